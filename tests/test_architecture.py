"""The layout is the design: who may import whom, and what every component needs."""

import ast
import importlib
import inspect
from functools import cache
from pathlib import Path

import pytest

import okl
from okl.kernels import Kernel
from okl.losses import Loss
from okl.parameters.component import Component, required_parameters
from okl.solvers import Solver
from okl.structures import Structure
from tests.instances import LOSSES, SOLVERS, STRUCTURES
from tests.kernels.instances import INSTANCES as KERNELS

SOURCE = Path(okl.__file__).parent
FILES = sorted(SOURCE.rglob("*.py"))
MAX_LINES = 300
# Names of before, each of a thing that the field has a word for: docs/development.md.
NOT_OURS = {
    "stiffness",
    "sharpness",
    "raised",
    "wanting",
    "place",
    "beside",
    "sharers",
    "patience",
}

# A module may import what is in its own row or in a row above; modules of one row
# that are listed apart never import each other.
ROWS = [
    [{"numerics"}, {"parameters"}],
    [{"trees"}],
    [{"optimization"}, {"output_kernels"}],
    [{"coding"}, {"decisions"}],
    [{"kernels"}, {"structures"}, {"losses"}],
    [
        {"certificates"},
        {"datasets"},
        {"metrics"},
    ],
    [{"operators"}],
    [{"problems"}, {"posterior"}],
    [{"solvers"}],
    [{"selection"}],
    [{"estimators"}],
    [{"plotting"}, {"model_selection"}, {"inspection"}],
    [{"cli"}],
]
# The folders of solvers, and the files beside them, in the same way.
SOLVER_ROWS = [
    [{"request"}, {"neighbours"}, {"requirements"}, {"written_out"}],
    [{"solution"}],
    [{"base"}, {"monitor"}],
    [{"table"}, {"predictor"}],
    [{"factor"}, {"terms"}],
    [{"output_kernel"}],
    [{"squared_loss"}, {"observed"}],
    [{"smooth"}],
    [{"smooth_loss"}],
    [{"kinks"}],
    [{"choice"}],
    [{"solve"}, {"completion"}],
]
LEVEL = {name: i for i, row in enumerate(ROWS) for group in row for name in group}
GROUP = {name: group for row in ROWS for group in row for name in group}


def name_of(path):
    """Return the dotted name of a file."""
    parts = path.relative_to(SOURCE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports_of(tree):
    """Return the modules that a tree imports, with the nodes that do so."""
    for node in nodes_of(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "absolute imports only"
            yield node.module, node
            if node.module == "okl":  # from okl import plotting
                yield from ((f"okl.{alias.name}", node) for alias in node.names)


@cache
def nodes_of(tree):
    """Return a tree and all that is below it."""
    return tuple(ast.walk(tree))


@cache
def parsed():
    return [(path, ast.parse(path.read_text())) for path in FILES]


def part_of(module):
    """Return the folder, or the file, directly below okl."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else None


def test_every_module_has_its_place():
    parts = {part_of(name_of(path)) for path in FILES} - {None, "__main__"}
    assert parts <= set(LEVEL), f"add to ROWS: {parts - set(LEVEL)}"


def test_imports_run_one_way():
    wrong = []
    for path, tree in parsed():
        here = part_of(name_of(path))
        if here is None or here == "__main__":  # okl/__init__.py exports
            continue
        for module, node in imports_of(tree):
            if module.split(".")[0] != "okl":
                continue
            there = part_of(module)
            if there is None:
                # only the outermost layers use the public interface
                fine = here in {"plotting", "cli", "datasets"}
            elif there not in LEVEL:
                fine = here in {"plotting", "cli"}  # okl.__version__, okl.certify
            else:
                fine = there in GROUP[here] or LEVEL[there] < LEVEL[here]
            if not fine:
                wrong.append(f"{path.name}:{node.lineno} {here} imports {module}")
    assert not wrong, wrong


def test_imports_of_solvers_run_one_way():
    level = {
        name: i for i, row in enumerate(SOLVER_ROWS) for group in row for name in group
    }
    wrong = []
    for path, tree in parsed():
        parts = name_of(path).split(".")
        if parts[:2] != ["okl", "solvers"] or len(parts) == 2:
            continue
        for module, node in imports_of(tree):
            there = module.split(".")[2:3] if module.startswith("okl.solvers.") else []
            if there and there[0] != parts[2] and level[there[0]] >= level[parts[2]]:
                wrong.append(f"{path.name}:{node.lineno} {parts[2]} imports {module}")
    assert not wrong, wrong


def test_the_certificate_knows_no_solver():
    names = {
        part_of(module)
        for path in (SOURCE / "certificates").glob("*.py")
        for module, _ in imports_of(ast.parse(path.read_text()))
        if module.startswith("okl")
    }
    assert names <= {
        "certificates",
        "coding",
        "losses",
        "numerics",
        "output_kernels",
        "structures",
        "trees",
    }


def test_no_import_of_our_own_inside_a_function():
    # the command line imports what it needs when a command runs, so that --help is
    # quick; nothing else has an excuse
    hidden = []
    for path, tree in parsed():
        if part_of(name_of(path)) == "cli":
            continue
        for outer in nodes_of(tree):
            if not isinstance(outer, ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            hidden += [
                f"{path.name}:{node.lineno} {module}"
                for module, node in imports_of(outer)
                if module.split(".")[0] == "okl"
            ]
    assert not hidden, hidden


def test_no_file_is_too_long():
    lengths = {str(path): len(path.read_text().splitlines()) for path in FILES}
    # more lines are likely two ideas
    assert not {path: n for path, n in lengths.items() if n > MAX_LINES}


def test_no_star_imports():
    for path, tree in parsed():
        for node in nodes_of(tree):
            if isinstance(node, ast.ImportFrom):
                assert all(alias.name != "*" for alias in node.names), path


def test_estimators_do_not_ask_which_loss_or_structure_they_hold():
    allowed = {"Structure", "Kernel", "Loss", "Solver"}
    components = {
        name
        for folder in ("losses", "structures", "solvers")
        for name, value in vars(importlib.import_module(f"okl.{folder}")).items()
        if isinstance(value, type) and issubclass(value, Component)
    } - allowed
    assert {"Squared", "LowRank", "ClosedForm"} <= components
    for path, tree in parsed():
        if part_of(name_of(path)) != "estimators":
            continue
        for node in nodes_of(tree):
            names = set()
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") in {
                "isinstance",
                "issubclass",
            }:
                names = {
                    n.id for n in ast.walk(node.args[1]) if isinstance(n, ast.Name)
                }
            if isinstance(node, ast.Compare):
                names = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
            assert not names & components, f"{path.name}:{node.lineno}"


def test_nothing_compares_with_the_name_of_a_component():
    from okl.losses import LOSSES as LOSS_NAMES
    from okl.solvers.choice import SOLVERS as SOLVER_NAMES
    from okl.structures import STRUCTURES as STRUCTURE_NAMES

    names = {*LOSS_NAMES, *SOLVER_NAMES, *STRUCTURE_NAMES}
    for path, tree in parsed():
        if part_of(name_of(path)) in {"cli", "plotting"}:
            continue
        for node in nodes_of(tree):
            if isinstance(node, ast.Compare):
                constants = {
                    n.value
                    for part in (node.left, *node.comparators)
                    for n in ast.walk(part)
                    if isinstance(n, ast.Constant) and isinstance(n.value, str)
                }
                tested = isinstance(node.ops[0], ast.Eq | ast.NotEq)
                assert not (tested and constants & names), f"{path}:{node.lineno}"


AXES = {"kernels": Kernel, "structures": Structure, "losses": Loss, "solvers": Solver}


def concrete(axis):
    """Return the public concrete classes that the files of a folder define."""
    # the bases must be ABCs: abstractmethod without ABC checks nothing
    found = set()
    for path in sorted((SOURCE / axis).rglob("*.py")):
        module = importlib.import_module(name_of(path))
        found |= {
            value
            for name, value in vars(module).items()
            if isinstance(value, type)
            and issubclass(value, AXES[axis])
            and value.__module__.startswith("okl.")
            and not name.startswith("_")
            and not inspect.isabstract(value)
        }
    return found - {AXES[axis]}


@pytest.mark.parametrize("axis", AXES)
def test_every_component_is_exported_and_has_an_instance(axis):
    classes = concrete(axis)
    assert classes
    exported = vars(importlib.import_module(f"okl.{axis}"))
    for cls in classes:
        assert exported.get(cls.__name__) is cls, f"export {cls.__name__}"
    instances = {
        "kernels": [instance.kernel for instance in KERNELS],
        "structures": [case.make(3) for case in STRUCTURES],
        "losses": LOSSES,
        "solvers": SOLVERS,
    }[axis]
    without = {cls.__name__ for cls in classes} - {type(i).__name__ for i in instances}
    without.discard("Learnable")  # has no matrix before it is learned
    assert not without, f"add to tests/instances.py: {without}"


@pytest.mark.parametrize("axis", AXES)
def test_components_hold_parameters_only(axis):
    for cls in concrete(axis):
        if cls is Solver:
            continue
        if cls.name is not None:
            default = cls(**dict.fromkeys(required_parameters(cls)))
            assert not [n for n in vars(default) if n not in default.get_params()]


@pytest.mark.parametrize("axis", AXES)
def test_the_public_classes_are_documented(axis):
    for cls in concrete(axis):
        assert cls.__doc__
        parameters = set(inspect.signature(cls).parameters)
        if parameters:
            assert "Parameters\n" in cls.__doc__
        for name in parameters:
            assert f"{name} :" in cls.__doc__ or f"{name}, " in cls.__doc__, (cls, name)


def test_classes_are_small():
    for path, tree in parsed():
        for node in nodes_of(tree):
            if isinstance(node, ast.ClassDef):
                methods = [n for n in node.body if isinstance(n, ast.FunctionDef)]
                assert len(methods) <= 15, f"{path.name}: {node.name}"


def test_the_public_names_exist():
    for name in okl.__all__:
        assert hasattr(okl, name)
    assert sorted(okl.__all__) == list(okl.__all__)


def names_in(tree):
    """Return the names that a tree gives to something."""
    for node in nodes_of(tree):
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            yield node.name
        elif isinstance(node, ast.arg | ast.keyword):
            yield node.arg or ""
        elif isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr


def test_names_are_words_of_the_field():
    found = {
        (name_of(path), name)
        for path, tree in parsed()
        for name in names_in(tree)
        if not NOT_OURS.isdisjoint(name.lower().split("_"))
    }
    assert not found


def test_a_class_name_stands_for_one_thing():
    classes = [
        node.name
        for _, tree in parsed()
        for node in tree.body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    ]
    assert sorted(set(classes)) == sorted(classes)
