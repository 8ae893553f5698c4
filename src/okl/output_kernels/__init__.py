"""Output kernels L (n_outputs, n_outputs): how one is kept, and what is asked of it."""

from okl.output_kernels.spectral import OutputKernel as OutputKernel
