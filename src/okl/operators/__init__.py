"""The kernel matrix as something that multiplies, solves and decomposes.

================== ============================== ==================================
class              the matrix                     used when
================== ============================== ==================================
`Dense`            stored, (n, n)                 only k(x, x') is known
`Features`         Phi Phi', never formed         the kernel has features, fewer than
                                                  samples
`SparseFeatures`   Phi Phi', Phi sparse           these are sparse, perhaps many
`RowBlocks`        evaluated for each product     the matrix does not fit in memory
`DiagonalOperator` diag(d)                        it is seen from its own eigenbasis
================== ============================== ==================================

A `SeparableSum` of these is a kernel per output; `OperatorTerms` are several kernels of
one model, of which one may be the identity on the rows (`RowOperator`).

With an output kernel L these become a `JointOperator`, what maps dual variables to
predictions: `Kronecker`, K C L, of several kernels `JointSum`, sum_q K_q C L_q, or for
data in long form `Coupled`, K_ij L[t_i, t_j].
"""

from okl.operators.base import KernelOperator as KernelOperator
from okl.operators.base import Operator as Operator
from okl.operators.base import Spectrum as Spectrum
from okl.operators.build import operator_of as operator_of
from okl.operators.centred_rows import CentredRows as CentredRows
from okl.operators.counting import Products as Products
from okl.operators.counting import counted_products as counted_products
from okl.operators.coupled import Coupled as Coupled
from okl.operators.coupled import OneTaskPerRow as OneTaskPerRow
from okl.operators.dense import Dense as Dense
from okl.operators.diagonal import DiagonalOperator as DiagonalOperator
from okl.operators.features import Features as Features
from okl.operators.joint import JointOperator as JointOperator
from okl.operators.joint import Kronecker as Kronecker
from okl.operators.joint_spectrum import JointSpectrum as JointSpectrum
from okl.operators.joint_sum import JointSum as JointSum
from okl.operators.low_rank import NystroemFactor as NystroemFactor
from okl.operators.new_rows import multiply_own as multiply_own
from okl.operators.new_rows import multiply_rows as multiply_rows
from okl.operators.row_blocks import RowBlocks as RowBlocks
from okl.operators.separable_sum import SeparableSum as SeparableSum
from okl.operators.separable_sum import Term as Term
from okl.operators.sparse_features import SparseFeatures as SparseFeatures
from okl.operators.terms import OperatorTerms as OperatorTerms
from okl.operators.terms import RowOperator as RowOperator
