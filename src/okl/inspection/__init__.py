"""What a fitted model says, and how sure that is.

`output_kernel_stability` fits a model again to resampled rows, and says how far the
entries of its output kernel move, and which relations keep their sign.
"""

from okl.inspection.entry_estimates import EntryEstimates
from okl.inspection.relations import OutputKernelStability
from okl.inspection.stability import output_kernel_stability

__all__ = ["EntryEstimates", "OutputKernelStability", "output_kernel_stability"]
