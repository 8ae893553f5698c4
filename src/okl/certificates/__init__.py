"""The proof of optimality of any model: primal and dual value, and their gap.

`okl.certificates.certificate` is the proof, `bounds` its two values, `gap_scale` what
their gap is measured by, `entries` what they ask of a matrix of targets, or of a column
of them in long form, and `certification` what `okl.certify` does with arrays. Nothing
here knows a solver.
"""

from okl.certificates.certificate import Certificate as Certificate
from okl.certificates.certificate import relative_gap as relative_gap
from okl.certificates.gap_scale import GapScale as GapScale
