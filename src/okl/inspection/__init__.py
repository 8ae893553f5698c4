"""What a fitted model says, and how sure that is.

`output_kernel_stability` fits a model again to resampled rows, and says how far the
entries of its output kernel move, and which relations keep their sign.
"""

from okl.inspection.entries import Entries
from okl.inspection.stability import OutputKernelStability, output_kernel_stability

__all__ = ["Entries", "OutputKernelStability", "output_kernel_stability"]
