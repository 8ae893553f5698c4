"""Pictures of fitted estimators, as scikit-learn Display objects.

Each display holds the data of one picture. ``from_estimator`` takes the data from a
fitted estimator and draws the picture; the constructor takes arrays. ``plot`` draws on
new or given axes and returns the display, whose attributes ending in an underscore
(``ax_``, ``figure_`` and the artists) can then be restyled.

matplotlib and networkx are imported only when something is drawn. Both come with
``pip install "okl[plot]"``.
"""

from okl.plotting.class_tree import ClassTreeDisplay as ClassTreeDisplay
from okl.plotting.convergence import ConvergenceDisplay as ConvergenceDisplay
from okl.plotting.feature_relevance import (
    FeatureRelevanceDisplay as FeatureRelevanceDisplay,
)
from okl.plotting.output_graph import OutputGraphDisplay as OutputGraphDisplay
from okl.plotting.output_kernel import OutputKernelDisplay as OutputKernelDisplay
from okl.plotting.path import RegularizationPathDisplay as RegularizationPathDisplay

__all__ = [
    "ClassTreeDisplay",
    "ConvergenceDisplay",
    "FeatureRelevanceDisplay",
    "OutputGraphDisplay",
    "OutputKernelDisplay",
    "RegularizationPathDisplay",
]
