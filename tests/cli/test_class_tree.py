"""okl fit --tree and okl predict with decisions: from tables to tables."""

import re

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import Pipeline

from okl import ClassTree, OutputKernelClassifier
from okl.cli.answers import Asked, answer_table
from okl.cli.class_tree import classes_in_tree, read_class_tree
from okl.cli.class_tree_report import FILES as TREE_FILES
from okl.cli.costs import read_costs
from okl.cli.data import take_apart
from okl.cli.errors import UserError
from okl.cli.preprocessing import encoder_for
from okl.cli.report import FILES
from okl.cli.settings import label, parse_settings
from okl.cli.storage import TableModel, load_model, save_model
from okl.decisions import decide, deepest_nodes
from okl.structures import Tree

PARENTS = {"all": "", "animal": "all", "plant": "all", "rock": "all"}
PARENTS |= {"cat": "animal", "dog": "animal", "oak": "plant", "fir": "plant"}
PARENTS["yew"] = "plant"  # of which there are no rows
FAST = ("--kernel", "linear", "--set", "alphas=3", "--cv", "2")


@pytest.fixture(scope="module")
def zoo(tmp_path_factory):
    """Write a folder with classes in a tree, and the tree."""
    folder = tmp_path_factory.mktemp("zoo")
    rng = np.random.default_rng(0)
    shifts = {name: rng.normal(size=3) for name in PARENTS}
    labels = np.repeat(["cat", "dog", "oak", "fir", "rock"], 8)
    centres = [shifts[label] + 2 * shifts[PARENTS[label]] for label in labels]
    X = rng.normal(centres)
    table = pd.DataFrame(X, columns=["a", "b", "c"]).assign(label=labels)
    table.to_csv(folder / "zoo.csv", index=False)
    edges = pd.DataFrame(PARENTS.items(), columns=["child", "parent"])
    edges.to_csv(folder / "tree.csv", index=False)
    above = {name: PARENTS[name] for name in labels}
    paths = [
        f"{above[label]}/{label}" if label != "rock" else label for label in labels
    ]
    table.assign(label=paths).to_csv(folder / "paths.csv", index=False)
    return folder


@pytest.fixture(scope="module")
def in_tree(okl_without_pictures, zoo):
    """Fit with the tree as a table; return the folder, and what was printed."""
    result = okl_without_pictures(
        *("fit", zoo / "zoo.csv", "--target", "label", "--out", zoo / "out", *FAST),
        *("--tree", zoo / "tree.csv"),
    )
    assert result.exit_code == 0, result.stderr
    assert "no rows of yew: the model has no intercept" in result.stderr
    return zoo, result.stdout


def test_the_report_shows_tree_levels_and_confusions(in_tree):
    folder, report = in_tree
    assert {path.name for path in (folder / "out").iterdir()} == {*FILES, *TREE_FILES}
    assert "classification (the classes are in a tree)" in report
    assert "all (40 rows)" in report
    assert "|-- animal (16 rows, " in report
    assert "|   |-- cat (8 rows, " in report
    assert "level 1 (3 nodes)" in report
    assert "errors are between related classes" in report
    assert "yew (0 rows)" in report
    # the model that is saved knows the class without rows, whatever paid
    assert (
        "The saved model is that of tree: independent outputs cannot predict" in report
    )
    model = load_model(folder / "out" / "model.skops")
    assert "yew" in model.pipeline[-1].classes_
    drawing = (folder / "out" / "class_tree.txt").read_text()
    assert len(drawing.splitlines()) == len(PARENTS)


def test_probabilities_of_a_level_and_answers_that_are_nodes(okl, in_tree):
    folder, _ = in_tree
    table = pd.read_csv(folder / "zoo.csv")
    model = load_model(folder / "out" / "model.skops")
    p, classes = model.probabilities(table), model.pipeline[-1].classes_
    tree = model.class_tree

    def asked(*options):
        out = folder / "answers.csv"
        result = okl(
            *("predict", folder / "out" / "model.skops", folder / "zoo.csv"),
            *("--out", out, *options),
        )
        assert result.exit_code == 0, result.stderr
        return pd.read_csv(out)

    found = asked("--level", "1", "--decision", "taxo")
    assert list(found) == ["label", "P(animal)", "P(plant)", "P(rock)"]
    np.testing.assert_allclose(found.iloc[:, 1:].sum(axis=1), 1, rtol=1e-12)
    np.testing.assert_allclose(found["P(animal)"], p[:, :2].sum(axis=1), rtol=1e-12)
    expected = decide(p, "taxo", classes=classes, tree=tree)
    assert found["label"].tolist() == expected.tolist()
    # rock is a class and a node of the level, and has one column
    both = asked("--level", "1", "--proba")
    assert list(both)[4:] == [f"P({one})" for one in classes if one != "rock"]
    np.testing.assert_allclose(both["P(rock)"], p[:, classes.tolist().index("rock")])
    np.testing.assert_allclose(both["P(cat)"], p[:, 0], rtol=1e-12)
    rejected = asked("--reject", "0.3")["label"].isna()
    assert rejected.tolist() == (p.max(axis=1) < 0.7).tolist()
    nodes = asked("--min-probability", "0.8")["label"].tolist()
    assert nodes == deepest_nodes(p, 0.8, classes=classes, tree=tree).tolist()
    costs = pd.DataFrame(1 - np.eye(len(classes)), columns=classes)
    costs["rock"] = 0.0  # which is never wrong
    costs.insert(0, "truth", classes)
    costs.sample(frac=1, random_state=0).to_csv(folder / "costs.csv", index=False)
    assert set(asked("--decision", folder / "costs.csv")["label"]) == {"rock"}


def test_classes_may_be_paths(zoo):
    table = pd.read_csv(zoo / "paths.csv")
    data = take_apart(table, ["label"], "classification")
    tree, named = classes_in_tree("paths", data)
    assert tree.classes_.tolist() == sorted(set(table["label"]))
    assert named.y.tolist() == table["label"].tolist()
    assert tree.nodes(1).tolist() == ["animal", "plant", "rock"]
    # and a table of edges may have rows with either names
    tree, named = classes_in_tree(str(zoo / "tree.csv"), data)
    assert tree.nodes(1).tolist() == ["animal", "plant", "rock"]
    assert {*named.y.tolist(), "plant/yew"} == set(tree.classes_.tolist())


def test_parameters_of_the_tree_can_be_set():
    settings = parse_settings([], [], ["structure__variances=subtree"], in_tree=True)
    (structure,) = settings.structures
    assert structure.variances == "subtree"
    structure.class_tree = ClassTree.from_paths(["a/b", "c"])
    assert label(structure) == "tree(variances='subtree')"


def test_a_model_of_a_tree_can_be_kept_in_a_file(zoo, tmp_path):
    table = pd.read_csv(zoo / "paths.csv")
    data = take_apart(table, ["label"], "classification")
    tree, data = classes_in_tree("paths", data)
    model = OutputKernelClassifier("linear", Tree(tree), loss="softmax")
    columns = encoder_for(data.feature_kinds)
    pipeline = Pipeline([("columns", columns), ("model", model)])
    pipeline.fit(data.features, data.y)
    kinds = data.feature_kinds, data.target_kinds
    kept = TableModel(pipeline, *kinds, class_tree=tree)
    save_model(kept, tmp_path / "tree.skops")
    again = load_model(tmp_path / "tree.skops")
    asked = Asked(level=1, decision="parent")
    expected = answer_table(kept, table, asked)
    pd.testing.assert_frame_equal(answer_table(again, table, asked), expected)
    X = again.pipeline[:-1].transform(data.features)
    p = again.pipeline[-1].predict_proba(X, level=1)
    np.testing.assert_allclose(p, expected.iloc[:, 1:], rtol=1e-12)


@pytest.mark.parametrize(
    ("edges", "text"),
    [
        ({"child": ["cat"], "above": ["all"]}, "no column parent"),
        ({"child": ["cat", "cat"], "parent": ["x", "y"]}, "several rows for cat"),
        (
            {"child": ["cat", None], "parent": ["x", "y"]},
            "no child in row 2; fill it in",
        ),
        (
            {"child": ["a", "b"], "parent": ["b", "a"]},
            "does not describe a tree: .* is below",
        ),
        ({"child": ["cat"], "parent": ["all"]}, "'dog' is not in the tree"),
    ],
)
def test_bad_trees_are_refused(okl, zoo, tmp_path, edges, text):
    pd.DataFrame(edges).to_csv(tmp_path / "tree.csv", index=False)
    result = okl(
        *("fit", zoo / "zoo.csv", "--target", "label", "--out", tmp_path / "out"),
        *("--tree", tmp_path / "tree.csv"),
    )
    assert result.exit_code == 2
    assert re.search(text, result.stderr)
    assert not (tmp_path / "out").exists()


def test_classes_of_which_none_is_a_path_are_refused():
    with pytest.raises(UserError, match=r"none has a '/': cat, dog.*leave --tree out"):
        read_class_tree("paths", ["dog", "cat"])
    with pytest.raises(UserError, match=r"these are numbers: 1\.5, 2.*by --target"):
        read_class_tree("paths", ["1.5", "2"])


def test_a_table_of_integers_with_a_root(tmp_path):
    # as pandas writes it
    edges = {"child": [0, 1, 2, 3, 4], "parent": [None, 0, 0, 1, 1]}
    pd.DataFrame(edges).to_csv(tmp_path / "tree.csv", index=False)
    tree = read_class_tree(str(tmp_path / "tree.csv"), ["2", "3", "4"])
    assert tree.classes_.tolist() == ["2", "3", "4"]


@pytest.mark.parametrize("task", [[], ["--task", "regression"]])
@pytest.mark.parametrize("target", ["y_*", "y_a"])
def test_a_tree_is_for_one_target_of_classes(okl, related_csv, tmp_path, target, task):
    result = okl(
        *("fit", related_csv, "--target", target, "--out", tmp_path / "out"),
        *("--tree", "paths", *task),
    )
    assert result.exit_code == 2
    several = "--tree is for one target of classes, got y_a, y_b, y_c; give one"
    one = "expects numbers" if task else "is for classes that are paths"
    assert (one if target == "y_a" else several) in result.stderr


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        ("lots", "has lots in the row cat and the column oak"),
        (None, "has no cost in the row cat and the column oak; a cost is a finite"),
        ("inf", "has inf in the row cat"),
        ("row", "has several rows for cat"),
    ],
)
def test_costs_that_are_none_are_named(tmp_path, cell, text):
    classes = np.array(["cat", "dog", "oak"])
    table = pd.DataFrame(1 - np.eye(3), classes, classes).astype(object)
    table.loc["cat", "oak"] = cell
    if cell == "row":
        table = pd.concat([table, table.head(1)])
    path = tmp_path / "costs.csv"
    table.to_csv(path, index_label="truth")
    with pytest.raises(UserError, match=f"{re.escape(str(path))} {text}"):
        read_costs(path, classes)


def test_classes_of_costs_are_called_as_they_are_written(tmp_path):
    classes = np.array(["007", "12"])
    costs = pd.DataFrame([[0, 5], [1, 0]], classes, classes)
    costs.to_csv(tmp_path / "costs.csv", index_label="truth")
    assert read_costs(tmp_path / "costs.csv", classes).tolist() == [[0, 5], [1, 0]]


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (["--level", "9"], "levels of this tree are 0 (the root) to 2; got 9"),
        (["--decision", "best"], "neither one of accuracy, taxo, parent nor a table"),
        (["--decision", "none.csv"], "there is no file none.csv"),
        (["--level", "1", "--std"], "--std and --interval are for numbers"),
        (["--reject", "-1"], "must be a number >= 0"),
        (["--min-probability", "2"], "at most 1; got 2.0"),
        (["--min-probability", "0.5", "--reject", "1"], "give one of them"),
    ],
)
def test_bad_options_are_refused(okl, in_tree, options, text):
    folder, _ = in_tree
    out = folder / "none.csv"
    model, table = folder / "out" / "model.skops", folder / "zoo.csv"
    result = okl("predict", model, table, "--out", out, *options)
    assert result.exit_code == 2
    assert text in result.stderr
    assert not out.exists()


def test_models_without_classes_have_none_of_this(okl, fitted, tmp_path):
    folder, _ = fitted
    predict = ("predict", folder / "out" / "model.skops", folder / "table.csv")
    result = okl(*predict, "--out", tmp_path / "p.csv", "--level", "1")
    assert result.exit_code == 2
    assert "this model predicts numbers. How sure" in result.stderr
