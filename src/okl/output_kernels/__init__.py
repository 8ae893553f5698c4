"""Output kernels L (n_outputs, n_outputs): their interface, and how they are kept.

`OutputKernel` is the interface, `SpectralKernel` keeps eigenvalues and eigenvectors,
`TreeKernel` the variances of the nodes of a tree, `OutputKernelTerms` one output kernel
for each of several input kernels.
"""

from okl.output_kernels.base import OutputKernel as OutputKernel
from okl.output_kernels.spectral import SpectralKernel as SpectralKernel
from okl.output_kernels.terms import OutputKernelTerms as OutputKernelTerms
from okl.output_kernels.terms import TermCoefficients as TermCoefficients
from okl.output_kernels.tree import TreeKernel as TreeKernel
