"""How sure the output kernel of a fitted model is.

`output_kernel_stability` fits a model again to resampled rows. It returns how much the
entries of the output kernel vary, and which relations have a sure sign.
"""

from okl.inspection.entry_estimates import EntryEstimates
from okl.inspection.relations import OutputKernelStability
from okl.inspection.stability import output_kernel_stability

__all__ = ["EntryEstimates", "OutputKernelStability", "output_kernel_stability"]
