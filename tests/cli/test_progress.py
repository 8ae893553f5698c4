"""The progress bar: on stderr, on terminals only, and never in the way."""

import pickle

import numpy as np
import pytest

from okl import OutputKernelRegressorCV
from okl.cli.progress import FoldProgress


@pytest.fixture
def fit_with_bar(monkeypatch, capsys):
    """Fit with a progress bar; return what was printed."""

    def fit(terminal):
        monkeypatch.setenv("TERM", "xterm")
        for name in ("FORCE_COLOR", "TTY_COMPATIBLE"):
            monkeypatch.delenv(name, raising=False)
        if terminal:  # rich takes the wish for colours for a terminal
            monkeypatch.setenv("FORCE_COLOR", "1")
        rng = np.random.default_rng(0)
        X, Y = rng.normal(size=(20, 2)), rng.normal(size=(20, 2))
        search = OutputKernelRegressorCV("rbf", alphas=2, cv=4)
        search.set_callbacks(FoldProgress()).fit(X, Y)
        return capsys.readouterr()

    return fit


def test_folds_are_counted_on_stderr(fit_with_bar):
    printed = fit_with_bar(terminal=True)
    assert printed.out == ""
    assert "cross-validation" in printed.err
    assert "5/5" in printed.err  # four folds and the final fit


def test_files_stay_clean(fit_with_bar):
    printed = fit_with_bar(terminal=False)
    assert (printed.out, printed.err) == ("", "")


def test_a_running_bar_can_be_sent_to_other_processes():
    class Context:
        max_subtasks = 3

    progress = FoldProgress()
    progress.setup(None, Context())
    copy = pickle.loads(pickle.dumps(progress))
    progress.teardown(None, Context())
    assert vars(copy) == {}
