"""The temperature of the probabilities that a search of a classifier chooses."""

import pickle
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit, log_softmax, softmax
from sklearn.base import clone
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold, cross_val_predict

import okl
from okl import OutputKernelClassifier, OutputKernelClassifierCV
from okl.kernels import Gaussian
from okl.losses import Logistic, Softmax
from okl.problems import Observed
from okl.selection import kernel_of_folds
from okl.selection.temperature import best_temperature, temperature_of_each
from tests.samples import draw

ALPHAS, FOLDS, KERNEL = [1.0, 0.1, 0.001], StratifiedKFold(3), Gaussian(0.5)
X, Y, _ = draw(45, 3)
LABELS = np.array(["x", "a", "m"])[np.argmax(Y - Y.mean(axis=0), axis=1)]
TRUTHS = (np.median(Y, axis=0) < Y).astype(float)


def search(*data, **parameters):
    """Fit a search on few alphas, without the warning that they are few."""
    given = {"structures": "identity", "alphas": ALPHAS, "cv": FOLDS, "tol": 1e-10}
    given["search"] = "full"  # every alpha has scores
    model = OutputKernelClassifierCV(KERNEL, **given | parameters)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The alpha chosen")
        return model.fit(*data)


def held_out(alpha):
    """Return the scores of rows that were held out."""
    single = OutputKernelClassifier(
        KERNEL, "identity", alpha, loss="softmax", tol=1e-10
    )
    return cross_val_predict(single, X, LABELS, cv=FOLDS, method="decision_function")


def scored(model, alphas, temperatures):
    """Return what the folds should have scored."""
    for row, alpha in enumerate(alphas):
        log_chances = log_softmax(held_out(alpha) / temperatures[row], axis=1)
        for fold, (_, test) in enumerate(FOLDS.split(X, LABELS)):
            yield (
                model.scores_[0, row, fold],
                -log_loss(
                    LABELS[test], np.exp(log_chances[test]), labels=model.classes_
                ),
            )


def test_each_alpha_is_scored_at_its_best_temperature():
    model = search(X, LABELS)
    targets = (LABELS[:, None] == model.classes_).astype(float)
    observed = Observed(targets, Softmax())
    best = [best_temperature(observed, held_out(alpha)) for alpha in ALPHAS]
    assert_allclose(model.cv_results_["temperature"], best, rtol=1e-3)
    assert best[-1] > 1.5  # too sure, of rows that were not in the fit
    for found, expected in scored(model, ALPHAS, best):
        assert found == pytest.approx(expected, rel=1e-3)
    chosen = int(np.argmax(model.scores_[0].mean(axis=-1)))
    assert model.temperature_ == model.cv_results_["temperature"][chosen]
    assert model.alpha_ == ALPHAS[chosen]


def test_at_one_nothing_changes():
    model = search(X, LABELS, temperature=1.0)
    for found, expected in scored(model, ALPHAS, np.ones(3)):
        assert found == pytest.approx(expected, rel=1e-3)
    assert model.temperature_ == 1.0
    assert "temperature" not in model.cv_results_
    single = OutputKernelClassifier(
        KERNEL, "identity", model.alpha_, loss="softmax", tol=1e-10
    ).fit(X, LABELS)
    assert_allclose(model.predict_proba(X), single.predict_proba(X), atol=1e-4)


def test_it_may_be_given_to_a_single_fit():
    at_one = OutputKernelClassifier(KERNEL, "identity", 0.01, loss="softmax")
    scores = at_one.fit(X, LABELS).decision_function(X)
    model = clone(at_one).set_params(temperature=2.0).fit(X, LABELS)
    assert_array_equal(model.decision_function(X), scores)
    assert_allclose(model.predict_proba(X), softmax(scores / 2, axis=1), rtol=1e-9)
    for wrong in (0.0, np.inf, 1e200, "auto"):
        with pytest.raises(ValueError, match="temperature"):
            model.set_params(temperature=wrong).fit(X, LABELS)


def test_only_probabilities_depend_on_it():
    (alpha,) = alphas = [0.001]
    at_one = search(X, LABELS, alphas=alphas, temperature=1.0)
    model = search(X, LABELS, alphas=alphas)
    assert model.alpha_ == at_one.alpha_ == alpha
    assert model.temperature_ > 1.5
    assert_array_equal(model.dual_coef_, at_one.dual_coef_)
    scores = model.decision_function(X)
    assert_array_equal(scores, at_one.decision_function(X))
    assert_array_equal(model.predict(X), at_one.predict(X))
    assert model.certificate_ == at_one.certificate_
    again = okl.certify(model, X, LABELS)
    assert again.primal == pytest.approx(at_one.certificate_.primal, rel=1e-9)
    chances = model.predict_proba(X)
    assert_allclose(chances, softmax(scores / model.temperature_, axis=1), rtol=1e-9)
    assert_allclose(model.predict_log_proba(X), np.log(chances), rtol=1e-9)
    assert_array_equal(model.classes_[chances.argmax(axis=1)], model.predict(X))


def test_each_label_has_its_own():
    missing = TRUTHS.copy()
    missing[::7, 1] = np.nan
    folds = [(np.arange(15, 45), np.arange(15)), (np.arange(30), np.arange(30, 45))]
    model = search(X, missing, alphas=[0.001], cv=folds)
    scores = model.decision_function(X)
    chances = model.predict_proba(X)
    assert_allclose(chances, expit(scores / model.temperature_), rtol=1e-9)
    left_out = []
    for train, _ in folds:
        single = OutputKernelClassifier(
            KERNEL, "identity", 0.001, loss="logistic", tol=1e-10
        )
        left_out.append(single.fit(X[train], missing[train]))
    tests = np.concatenate([test for _, test in folds])
    held = [
        m.decision_function(X[t]) for m, (_, t) in zip(left_out, folds, strict=True)
    ]
    seen = ~np.isnan(missing[tests])
    signs = np.where(seen, 2 * missing[tests] - 1, 0.0)
    observed = Observed(signs, Logistic(), seen.astype(float))
    expected = temperature_of_each(observed, np.concatenate(held))
    assert_allclose(model.temperature_, expected, rtol=1e-3)
    assert np.ptp(expected) > 0.1
    assert_allclose(model.cv_results_["temperature"][0], model.temperature_)
    score = scored_labels(np.concatenate(held) / expected, missing[tests])
    assert model.best_score_ == pytest.approx(np.mean(list(score)), rel=1e-3)
    assert_array_equal(chances > 0.5, model.predict(X))


def test_a_label_of_one_side_has_its_log_odds_as_they_are():
    exact = np.column_stack([X[:, :2] > 0, np.zeros(len(X)), np.ones(len(X))])
    model = search(X, exact.astype(float), alphas=[0.1], cv=3)
    assert np.all(model.temperature_[:2] < 0.9)
    assert_array_equal(model.temperature_[2:], 1.0)
    chances = model.predict_proba(X)[:, 2:]
    one = np.array([0.5, len(X) + 0.5]) / (len(X) + 1)
    assert_allclose(chances, np.tile(one, (len(X), 1)), rtol=1e-9)


def test_temperatures_of_labels_may_be_given():
    given = [0.5, 1.0, 2.0]
    single = OutputKernelClassifier(
        KERNEL, "identity", 0.1, loss="logistic", temperature=given
    ).fit(X, TRUTHS)
    chances = expit(single.decision_function(X) / given)
    assert_allclose(single.predict_proba(X), chances, rtol=1e-9)
    again = pickle.loads(pickle.dumps(clone(single).fit(X, TRUTHS)))
    assert_array_equal(again.predict_proba(X), single.predict_proba(X))
    found = search(X, TRUTHS, temperature=given, cv=3)
    assert_array_equal(found.temperature_, given)
    chances = expit(found.decision_function(X) / given)
    assert_allclose(found.predict_proba(X), chances, rtol=1e-9)


@pytest.mark.parametrize("wrong", [[1.0, 2.0], [[1.0, 2.0, 3.0]], [1.0, 0.0, 2.0]])
def test_there_is_one_for_each_label(wrong):
    with pytest.raises(ValueError, match=r"temperature (must be|has shape)"):
        search(X, TRUTHS, temperature=wrong)
    with pytest.raises(ValueError, match=r"temperature (must be|has shape)"):
        search(X, LABELS, temperature=wrong)


def scored_labels(scores, labels):
    """Return the mean log likelihoods of labels in two folds of fifteen rows."""
    for fold in (slice(15), slice(15, 30)):
        likely = np.log(expit((2 * labels[fold] - 1) * scores[fold]))
        yield np.nanmean(likely, axis=0).mean()


def test_in_long_form():
    rows, tasks = np.divmod(np.arange(X.shape[0] * 3), 3)
    model = OutputKernelClassifierCV(KERNEL, "identity", alphas=[0.001], cv=3)
    model.fit(X[rows], TRUTHS[rows, tasks], task=tasks)
    scores = model.decision_function(X)
    assert model.temperature_ != 1.0
    assert_allclose(model.predict_proba(X), expit(scores / model.temperature_))


@pytest.mark.parametrize("loss", ["softmax", "logistic"])
def test_two_classes(loss):
    y = TRUTHS[:, 0] > 0
    model = search(X, y, alphas=[0.001], loss=loss)
    decision = model.decision_function(X)
    assert model.temperature_ != 1.0
    assert_allclose(model.predict_proba(X)[:, 1], expit(decision / model.temperature_))


def test_it_is_copied_and_pickled():
    model = search(X, LABELS)
    assert clone(model).temperature == "auto"
    again = pickle.loads(pickle.dumps(model))
    assert again.temperature_ == model.temperature_ != 1.0
    assert_array_equal(again.predict_proba(X), model.predict_proba(X))


def test_losses_without_probabilities_have_none():
    model = search(X, LABELS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.set_params(loss="squared_hinge").fit(X, LABELS)
    assert not hasattr(model, "temperature_")


@pytest.mark.parametrize("temperature", [0.0, -1.0, np.inf, "hot", None, 1e-320])
def test_it_is_checked(temperature):
    with pytest.raises(ValueError, match=r"temperature (must be|is)"):
        search(X, LABELS, temperature=temperature)


def test_a_learned_kernel_has_alphas_far_below_its_noise(monkeypatch):
    # few alphas and folds: it is their largest and their smallest that counts, and the
    # kernel is the same for both
    monkeypatch.setattr(kernel_of_folds, "_ITERATIONS", 1)
    fits = [
        OutputKernelClassifierCV(
            structures="identity", alphas=2, cv=2, tol=1e-3, temperature=t
        ).fit(X[::2], LABELS[::2])
        for t in (1.0, "auto")
    ]
    ends = [fit.alphas_[0, -1] for fit in fits]
    assert ends[1] == pytest.approx(ends[0] / 100, rel=1e-6)
