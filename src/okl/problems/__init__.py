"""What is minimised: a loss on targets, for an operator and a structure.

`Inputs` holds an operator, centred if there is an intercept. `formulate` turns it
and targets, which `Observed` keeps together with their loss and weights, into a
`Formulation`: a `Problem` without intercept and with as few outputs as possible, and
the way back from its solution to the model. `Rotated` is the problem in the eigenbasis
of its operator, where most solvers work. How targets and dual variables are arranged,
and multiplied, differs: `TargetMatrix` has them as a matrix, `TargetColumn` as a column
in long form, and `TermMatrix` as a matrix that several kernels share.
"""

from okl.problems.formulation import Formulation as Formulation
from okl.problems.formulation import formulate as formulate
from okl.problems.inputs import Inputs as Inputs
from okl.problems.observed import Observed as Observed
from okl.problems.output_alphas import OutputAlphas as OutputAlphas
from okl.problems.output_alphas import (
    check_sum_over_outputs as check_sum_over_outputs,
)
from okl.problems.problem import Problem as Problem
from okl.problems.problem import n_observed as n_observed
from okl.problems.problem import unit_kernel as unit_kernel
from okl.problems.rotated import Rotated as Rotated
from okl.problems.target_column import TargetColumn as TargetColumn
from okl.problems.target_matrix import TargetMatrix as TargetMatrix
from okl.problems.targets_loss import Weighting as Weighting
from okl.problems.term_matrix import TermMatrix as TermMatrix
