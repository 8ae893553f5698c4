"""Output kernels L (n_outputs, n_outputs): what is asked of one, and how it is kept.

`OutputKernel` is the interface, `SpectralKernel` keeps eigenvalues and eigenvectors.
"""

from okl.output_kernels.base import OutputKernel as OutputKernel
from okl.output_kernels.spectral import SpectralKernel as SpectralKernel
