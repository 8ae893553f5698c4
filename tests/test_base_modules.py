"""Components, checks and memory: what everything else stands on."""

import inspect

import array_api_strict as strict
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from okl.numerics import memory
from okl.numerics.validation import (
    check_count,
    check_flag,
    check_gram,
    check_magnitude,
    check_not_negative,
    check_positive,
    positive_part,
)
from okl.parameters.component import Component, from_name, names_of
from tests.samples import psd


class TestComponent:
    """Names and objects."""

    def test_table_of_names(self):
        class Base(Component):
            pass

        class Named(Base):
            name = "named"

        class Nameless(Base):
            pass

        table = names_of({"a": Named, "b": Nameless, "c": Base, "d": 3, "e": str}, Base)
        assert table == {"named": Named}
        assert isinstance(from_name("named", table, Base), Named)
        with pytest.raises(ValueError, match=r"Unknown base 'x'. Known names: 'named'"):
            from_name("x", table, Base)
        with pytest.raises(
            TypeError, match=r"okl\.bases, got <class.*mean Named\(\)\?"
        ):
            from_name(Named, table, Base)

    def test_a_class_has_the_parameters_of_its_own_constructor(self):
        class Base(Component):
            def __init__(self, a=1):
                self.a = a

        class Further(Base):
            def __init__(self, a=1, b=2):
                super().__init__(a)
                self.b = b

        assert Base().get_params() == {"a": 1}
        assert Further().get_params() == {"a": 1, "b": 2}
        assert Base(3).get_params() == {"a": 3}

    def test_a_constructor_is_read_once(self, monkeypatch):
        # the method that scikit-learn asks for names is not public: it may be another
        class Base(Component):
            def __init__(self, a=1):
                self.a = a

        Base().get_params()
        monkeypatch.setattr(inspect, "signature", None)
        assert clone(Base(2)).set_params(a=3).get_params() == {"a": 3}

    def test_names_of_parameters_may_be_changed(self):
        class Base(Component):
            def __init__(self, a=1, b=2):
                self.a, self.b = a, b

        Base._get_param_names().remove("a")
        assert Base().get_params() == {"a": 1, "b": 2}


class TestNumbers:
    """Numbers that come from users."""

    @pytest.mark.parametrize(
        "value", [0, -1, 0.0, np.nan, np.inf, -np.inf, True, "1", None, 1j, [1.0]]
    )
    def test_not_positive(self, value):
        with pytest.raises(ValueError, match="alpha must be a finite number > 0, got"):
            check_positive(value, "alpha")

    @pytest.mark.parametrize("value", [1, 0.5, np.float32(2), np.int64(3), 5e-324])
    def test_positive(self, value):
        found = check_positive(value, "alpha")
        assert type(found) is float
        assert found == value

    @pytest.mark.parametrize("value", [-5e-324, -1, np.nan, np.inf, True, "1", None])
    def test_negative(self, value):
        with pytest.raises(ValueError, match="alpha must be a finite number >= 0, got"):
            check_not_negative(value, "alpha")

    @pytest.mark.parametrize("value", [0, 0.0, np.float32(2), np.int64(3), 5e-324])
    def test_not_negative(self, value):
        found = check_not_negative(value, "alpha")
        assert type(found) is float
        assert found == value

    @pytest.mark.parametrize("value", [1e51, -1e51, 1e-51, -1e-51, np.inf, np.nan])
    def test_no_magnitude(self, value):
        message = r"Numbers are up to .*between 1e-50 and 1e\+50.* Rescale\."
        for module in (np, strict):
            array = module.asarray([[0.0, value]])
            with pytest.raises(ValueError, match=message):
                check_magnitude(array, "Numbers are up to", "Rescale.")

    @pytest.mark.parametrize("values", [[], [0.0], [-1e49, 0.0], [1e-49, 1e-300]])
    def test_magnitude(self, values):
        check_magnitude(np.array(values), "Numbers are up to", "Rescale.")

    @pytest.mark.parametrize("value", [0, 1, "no", None, np.nan, []])
    def test_no_flag(self, value):
        with pytest.raises(ValueError, match="must be True or False, got"):
            check_flag(value, "fit_intercept")

    def test_flag(self):
        assert check_flag(np.True_, "fit_intercept") is True
        assert check_flag(False, "fit_intercept") is False

    @pytest.mark.parametrize("value", [0, -1, 1.0, np.nan, True, "1", None])
    def test_no_count(self, value):
        with pytest.raises(ValueError, match="max_iter must be an integer >= 1, got"):
            check_count(value, "max_iter")

    def test_count(self):
        assert check_count(np.int64(3), "max_iter") == 3


class TestGram:
    """Kernel matrices that come from users."""

    @pytest.mark.parametrize("shape", [(2, 3), (3,), (2, 2, 2)])
    def test_not_square(self, shape):
        with pytest.raises(ValueError, match="The matrix must be square"):
            check_gram(np.ones(shape), "The matrix")

    def test_symmetry_up_to_rounding(self):
        K = psd(4)
        K[0, 1] *= 1 + 1e-9
        check_gram(K, "K")
        check_gram(strict.asarray(K), "K")
        K[0, 1] += 1e-3
        with pytest.raises(ValueError, match=r"not symmetric.*up to 0.001.*K \+ K.T"):
            check_gram(K, "K")

    @pytest.mark.parametrize("order", ["C", "F"])
    def test_definite_matrices_pass_untouched(self, order):
        for K in (psd(5), psd(5, rank=2), np.zeros((3, 3)), np.eye(2)):
            given = np.array(K, order=order)
            assert positive_part(given) is given
            assert_array_equal(given, K)

    def test_slightly_indefinite_matrices_are_clipped(self):
        values = np.array([2.0, 1.0, -1e-6])
        Q = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0]
        found = positive_part((Q * values) @ Q.T)
        assert_allclose(found, (Q[:, :2] * values[:2]) @ Q[:, :2].T, atol=1e-14)

    @pytest.mark.parametrize(
        "values", [[2.0, 1.0, -0.25], [-0.25, -0.25, -0.25], [0.0, 0.0, -0.25]]
    )
    def test_indefinite_matrices_are_refused(self, values):
        Q = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0]
        with pytest.raises(ValueError, match=r"most negative eigenvalue is -0.25"):
            positive_part((Q * np.array(values)) @ Q.T)


class TestMemory:
    """Saying no before the system does."""

    def test_message(self, monkeypatch):
        monkeypatch.setattr(memory, "available_memory", lambda: 2**20)
        memory.require_memory(2**20, "This", "That.")
        with pytest.raises(
            MemoryError, match=r"This needs about 3.0 GiB, but only 1.0 MiB.*That\."
        ):
            memory.require_memory(3 * 2**30, "This", "That.")

    def test_unknown_memory_is_no_obstacle(self, monkeypatch):
        monkeypatch.setattr(memory, "available_memory", lambda: None)
        memory.require_memory(2**60, "This", "That.")

    def test_to_look_takes_longer_than_to_fit_few_rows(self, monkeypatch):
        looked = []
        monkeypatch.setattr(memory, "available_memory", lambda: looked.append(1))
        memory.require_memory(2**20, "This", "That.")
        assert not looked
        memory.require_memory(2**30, "This", "That.")
        assert looked

    def test_copies_of_files_are_free(self, monkeypatch, tmp_path):
        limit, usage, table = (tmp_path / name for name in ("max", "current", "stat"))
        limit.write_text("1000\n")
        usage.write_text("700\n")
        table.write_text("inactive_files 5\ninactive_file 400\n")
        group = str(limit), str(usage), (str(table), "inactive_file")
        monkeypatch.setattr(memory, "_CONTROL_GROUPS", (group,))
        assert memory._limited_memory() == 700
        for unknown in ("anon 5\n", "inactive_file\n", ""):
            table.write_text(unknown)
            assert memory._limited_memory() == 300
        table.unlink()
        assert memory._limited_memory() == 300
        limit.write_text("max\n")  # no limit
        assert memory._limited_memory() is None

    def test_the_smaller_of_the_limits_counts(self, monkeypatch):
        monkeypatch.setattr(memory, "_system_memory", lambda: 10)
        monkeypatch.setattr(memory, "_limited_memory", lambda: 7)
        assert memory.available_memory() == 7
        monkeypatch.setattr(memory, "_limited_memory", lambda: None)
        assert memory.available_memory() == 10
        monkeypatch.setattr(memory, "_system_memory", lambda: None)
        assert memory.available_memory() is None

    def test_this_machine_says_something_sensible(self):
        free = memory.available_memory()
        assert free is None or 2**20 < free < 2**60
