"""Trees of classes: their nodes and names, and sums along their paths.

`ClassTree` is what users make and pass around; `Levels` is its arithmetic.
"""

from okl.trees.class_tree import ClassTree as ClassTree
from okl.trees.class_tree import check_class_tree as check_class_tree
from okl.trees.levels import Levels as Levels
from okl.trees.names import NodeNames as NodeNames
