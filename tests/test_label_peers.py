"""The study of labels, on drawn sets."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from reproductions import label_peers, report, study
from reproductions.label_peers import frequent, jobs, scores_of
from reproductions.labels_learned import Frequencies, Learnable
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier

from okl import OutputKernelClassifierCV


def drawn(name):
    """Return rows, sparse ones of "words", and three labels, the last one rare."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    Y = (X[:, :3] > [0.0, 0.3, 9.0]).astype(int)
    Y[:2, 2] = 1
    return (sp.csr_matrix(X * (X > 0)) if name == "words" else X), Y


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    monkeypatch.setattr(study, "RESULTS", tmp_path)
    monkeypatch.setattr(report, "PAGES", tmp_path)
    monkeypatch.setattr(label_peers, "label_set", drawn)
    monkeypatch.setattr(label_peers, "SETS", ("numbers", "words"))
    small = {
        "okl": lambda d: OutputKernelClassifierCV("linear", "identity", alphas=2, cv=2),
        "logistic": lambda d: Learnable(MultiOutputClassifier(LogisticRegression())),
        "process": lambda d: Frequencies(),
        "frequencies": lambda d: Frequencies(),
    }
    monkeypatch.setattr(label_peers, "PEERS", small)
    return tmp_path


def test_its_page_has_every_set(elsewhere):
    study.pursue(study.Study("label_peers"), jobs(label_peers.SETS, label_peers.PEERS))
    label_peers.write()
    lines = (elsewhere / "label_peers.md").read_text().splitlines()
    cells = [[cell.strip(" *") for cell in line.split("|")[1:-1]] for line in lines]
    ratios = {row[0]: row for row in cells if row and row[0] in label_peers.PEERS}
    assert ratios["okl"][1:4] == ["2", "1.00", "1.000 ± 0.000"]
    assert float(ratios["frequencies"][3].split(" ± ")[0]) > 1.1
    of_words = [row for row in cells if row and row[0].startswith("words (60, 4, 3)")]
    assert len(of_words) == 3  # log loss, ranking, F1
    assert all(row[3] == "–" for row in of_words)  # sparse: the process is not run
    values = [float(of_words[0][column].split(" ± ")[0]) for column in (1, 2, 4)]
    assert max(values) == values[-1]  # the frequencies


def test_scores():
    truth = np.array([[1, 0, 0], [0, 1, 1], [0, 0, 0]])
    chances = np.array([[0.5, 0.8, 0.1], [0.2, 0.9, 0.6], [0.0, 0.1, 1.0]])
    found = scores_of(chances, truth)
    likely = [0.5, 0.2, 0.9, 0.8, 0.9, 0.6, 0.999, 0.9, 0.001]
    assert found["log_loss"] == pytest.approx(-np.mean(np.log(likely)))
    assert found["ranking"] == pytest.approx(100 * (1 / 2 + 1) / 2)
    assert found["f1"] == pytest.approx(100 * 2 * 2 / (3 + 4))
    assert found["hamming"] == pytest.approx(100 * 3 / 9)


def test_the_most_frequent_labels_keep_their_order(monkeypatch):
    monkeypatch.setattr(label_peers, "MOST_LABELS", 2)
    Y = np.array([[1, 0, 1], [1, 0, 1], [0, 1, 1]])
    assert_allclose(frequent(Y), Y[:, [0, 2]])


@pytest.mark.parametrize(
    "model",
    [
        MultiOutputClassifier(LogisticRegression()),
        ClassifierChain(LogisticRegression()),
        ExtraTreesClassifier(20, random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_rare_labels_have_their_frequency(model):
    X, Y = drawn("numbers")
    chances = Learnable(model).fit(X, Y).predict_proba(X)
    assert_allclose(chances[:, 2], 2.5 / 61)
    assert np.mean((chances[:, :2] > 0.5) == Y[:, :2]) > 0.9
