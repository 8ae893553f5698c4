"""From probabilities to decisions: the class with the least expected cost.

Which answer is best depends on what errors cost. If all errors cost the same it is the
most probable class; if an error costs less where the answer is a near relative of the
true class, it may be another. `decide` works with the probabilities of any classifier:

>>> from okl.decisions import decide
>>> decide([[0.6, 0.4]], [[0, 1], [5, 0]], classes=["healthy", "ill"]).tolist()
['ill']

`Cost` is what an answer costs. In a tree of classes `node_probabilities` are those of
its nodes, and `deepest_nodes` answers with a node instead of a class: the deepest one
that is probable enough.
"""

from okl.decisions.costs import Cost as Cost
from okl.decisions.costs import CostMatrix as CostMatrix
from okl.decisions.costs import ParentError as ParentError
from okl.decisions.costs import PathLength as PathLength
from okl.decisions.costs import ZeroOne as ZeroOne
from okl.decisions.costs import as_cost as as_cost
from okl.decisions.nodes import deepest_nodes as deepest_nodes
from okl.decisions.nodes import node_probabilities as node_probabilities
from okl.decisions.rules import Answers as Answers
from okl.decisions.rules import DecisionRule as DecisionRule
from okl.decisions.rules import answers as answers
from okl.decisions.rules import decide as decide
