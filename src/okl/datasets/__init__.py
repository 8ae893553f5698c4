"""Data sets on which learning the relations of the outputs can be studied.

=============================== ===================================================
function                        what it makes
=============================== ===================================================
`load_mosaic`                   a photograph, one colour recorded at each pixel
`make_mixed_processes`          noisy time series that are mixtures of a few
`make_split_classes`            Gaussian classes, some split into several labels
`make_text_tree`                counts of words in documents, classes in a tree
=============================== ===================================================
"""

from okl.datasets.mixed_processes import MixedProcesses as MixedProcesses
from okl.datasets.mixed_processes import make_mixed_processes as make_mixed_processes
from okl.datasets.mosaic import Mosaic as Mosaic
from okl.datasets.mosaic import load_mosaic as load_mosaic
from okl.datasets.split_classes import make_split_classes as make_split_classes
from okl.datasets.text_tree import make_text_tree as make_text_tree
