import sys

import numpy as np
import pytest

import okl.plotting

DISPLAYS = {
    "ClassTreeDisplay": (okl.ClassTree.from_paths(["a/b", "c"]),),
    "OutputKernelDisplay": (np.eye(2),),
    "OutputGraphDisplay": (np.eye(2),),
    "RegularizationPathDisplay": (np.ones((1, 2)), np.ones((1, 2, 3))),
    "FeatureRelevanceDisplay": ([0.3, 0.7],),
    "ConvergenceDisplay": ([{"relative_gap": 1.0, "seconds": 0.0}],),
}


def test_all_displays_are_exported():
    assert sorted(DISPLAYS) == sorted(okl.plotting.__all__)


@pytest.mark.parametrize("name", DISPLAYS)
def test_without_matplotlib(name, monkeypatch):
    display = getattr(okl.plotting, name)(*DISPLAYS[name])
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    message = rf'{name}.plot requires matplotlib.*pip install "okl\[plot\]"'
    with pytest.raises(ImportError, match=message):
        display.plot()


def test_without_networkx(monkeypatch):
    monkeypatch.setitem(sys.modules, "networkx", None)
    message = r'requires networkx.*pip install "okl\[plot\]"'
    with pytest.raises(ImportError, match=message):
        okl.plotting.OutputGraphDisplay(np.eye(2)).plot()
    with pytest.raises(ImportError, match=message):
        okl.plotting.ClassTreeDisplay(okl.ClassTree.from_paths(["a", "b"])).plot()
