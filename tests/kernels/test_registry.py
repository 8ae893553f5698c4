"""Names, and that every kernel of the folder is exported and tested."""

import importlib
import inspect
import pkgutil

import pytest
from sklearn.gaussian_process.kernels import RBF
from sklearn.metrics.pairwise import cosine_similarity

import okl.kernels
from okl.kernels import KERNELS, CallableKernel, Gaussian, Kernel, Learnable, as_kernel

from .instances import INSTANCES


def kernels_of_the_folder():
    modules = [
        importlib.import_module(f"okl.kernels.{module.name}")
        for module in pkgutil.iter_modules(okl.kernels.__path__)
    ]
    return {
        value
        for module in modules
        for value in vars(module).values()
        if inspect.isclass(value)
        and issubclass(value, Kernel)
        and value.__module__ == module.__name__
        and not inspect.isabstract(value)
    }


def test_every_kernel_is_exported_and_has_an_instance():
    folder = kernels_of_the_folder()
    assert Learnable in folder
    assert len(folder) >= 13
    exported = {
        value
        for value in vars(okl.kernels).values()
        if inspect.isclass(value) and issubclass(value, Kernel)
    }
    assert exported == folder | {Kernel}
    tested = {type(instance.kernel) for instance in INSTANCES}
    assert folder == tested | {Learnable}  # which has no matrix before it is learned


def test_every_kernel_has_a_line_in_the_api_table():
    for cls in kernels_of_the_folder():
        assert cls.__name__ in okl.kernels.__doc__
    for name in KERNELS:
        assert f'``"{name}"``' in okl.kernels.__doc__


def test_an_alias_is_understood_but_not_listed():
    assert type(as_kernel("gaussian")) is Gaussian
    assert KERNELS["gaussian"] is KERNELS["rbf"] is Gaussian
    assert "gaussian" in KERNELS
    assert "gaussian" not in list(KERNELS)


def test_names():
    # users have these in their code: none is to be lost
    assert set(KERNELS) >= {
        "cosine",
        "laplacian",
        "linear",
        "matern",
        "periodic",
        "poly",
        "rational_quadratic",
        "rbf",
    }
    assert list(KERNELS) == sorted(KERNELS)
    for name, cls in KERNELS.items():
        kernel = as_kernel(name)
        assert type(kernel) is cls
        assert repr(kernel) == f"{cls.__name__}()"


def test_a_kernel_passes_through():
    kernel = Gaussian(2.0)
    assert as_kernel(kernel) is kernel


@pytest.mark.parametrize("function", [RBF(), cosine_similarity])
def test_a_function_is_wrapped(function):
    kernel = as_kernel(function)
    assert type(kernel) is CallableKernel
    assert kernel.function is function


def test_unknown_name_lists_all_names():
    with pytest.raises(
        ValueError, match=r"Unknown kernel 'foo'\. Known names"
    ) as error:
        as_kernel("foo")
    for name in [*KERNELS, "precomputed"]:
        assert repr(name) in str(error.value)


def test_precomputed_is_no_kernel_function():
    with pytest.raises(ValueError, match=r"X is the kernel matrix.*okl.kernels.Gram"):
        as_kernel("precomputed")


@pytest.mark.parametrize("spec", [None, 3, ["rbf"]])
def test_other_types(spec):
    with pytest.raises(TypeError, match=r"kernel must be a name \(.*'cosine', .*got"):
        as_kernel(spec)


def test_a_class_is_not_an_object():
    with pytest.raises(TypeError, match=r"did you mean Gaussian\(\)\?"):
        as_kernel(Gaussian)
