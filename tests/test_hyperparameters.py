"""Hyperparameters as a vector of logarithms: bounds, priors and ties."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from scipy.stats import multivariate_normal, norm
from sklearn.base import clone

from okl.kernels import Average, Gaussian, Linear, Matern
from okl.parameters import (
    Flat,
    Hyperparameter,
    HyperparameterSpace,
    Learn,
    LinearScale,
    LogNormal,
    Normal,
    Tied,
)


def listed():
    prior = LogNormal([0.0, 1.0, -1.0], 0.6, 1.5)
    return [
        Hyperparameter("alpha", 1.0, (1e-5, 1e5)),
        Hyperparameter("kernel__gamma", np.array([1.0, 2.0, 4.0]), (1e-2, 1e2), prior),
        Hyperparameter("structure__mu", 0.5, (1e-3, 1e3), LogNormal(0.0, 2.0)),
    ]


def slopes(function, theta, step=1e-5):
    return np.array(
        [
            (function(theta + step * e) - function(theta - step * e)) / (2 * step)
            for e in np.eye(theta.size)
        ]
    )


class TestPriors:
    @pytest.mark.parametrize("n", [1, 4])
    @pytest.mark.parametrize("shared", [0.0, 1.5])
    def test_log_normal_is_the_density_with_the_level_integrated_out(self, n, shared):
        rng = np.random.default_rng(n)
        mean, logs = rng.normal(size=n), rng.normal(size=n)
        covariance = 0.36 * np.eye(n) + shared**2 * np.ones((n, n))
        expected = multivariate_normal(mean, covariance).logpdf(logs)
        prior = LogNormal(mean, 0.6, shared)
        assert prior.log_density(logs) == pytest.approx(expected, rel=1e-12)
        assert_allclose(
            prior.gradient(logs), slopes(prior.log_density, logs), rtol=1e-8
        )
        if n > 1 and shared:
            levels = shared * np.linspace(-8, 8, 4001)
            joint = norm(mean[:, None] + levels, 0.6).pdf(logs[:, None]).prod(axis=0)
            joint *= norm(0.0, shared).pdf(levels)
            marginal = np.trapezoid(joint, levels)
            assert prior.log_density(logs) == pytest.approx(np.log(marginal), rel=1e-8)

    def test_of_a_number(self):
        prior = LogNormal(0.5, 3.0)
        assert prior.log_density(2.0) == pytest.approx(norm(0.5, 3.0).logpdf(2.0))
        assert prior.gradient(2.0) == pytest.approx(-1.5 / 9.0)
        assert np.shape(prior.gradient(2.0)) == ()

    def test_one_mean_for_all(self):
        logs = np.array([0.1, 0.7])
        one, many = LogNormal(0.5, 0.6, 1.5), LogNormal([0.5, 0.5], 0.6, 1.5)
        assert one.log_density(logs) == many.log_density(logs)

    def test_flat(self):
        assert Flat().log_density(np.ones(3)) == 0.0
        assert_array_equal(Flat().gradient(np.ones(3)), np.zeros(3))
        assert Flat().gradient(1.0).shape == ()

    @pytest.mark.parametrize(
        "arguments", [(0.0, 0.0), (0.0, -1.0), (0.0, 1.0, -1.0), (0.0, np.nan)]
    )
    def test_wrong_spread(self, arguments):
        with pytest.raises(ValueError, match="std of LogNormal must be finite and > 0"):
            LogNormal(*arguments)

    def test_wrong_mean(self):
        with pytest.raises(ValueError, match="mean of LogNormal must be finite"):
            LogNormal([0.0, np.inf])
        with pytest.raises(ValueError, match=r"one entry per value, got shape \(2,\)"):
            LogNormal([0.0, 1.0]).log_density(np.zeros(3))


class TestHyperparameter:
    @pytest.mark.parametrize(
        "value", [0.0, -1.0, np.nan, [1.0, 0.0], "scale", None, [1, [2]], [], True]
    )
    def test_values_are_positive(self, value):
        with pytest.raises(ValueError, match="value of 'gamma' must be finite and > 0"):
            Hyperparameter("gamma", value, (0.1, 1.0))

    @pytest.mark.parametrize(
        ("bounds", "message"),
        [
            ((1.0, 0.1), r"0 < low < high, got \(1\.0, 0\.1\)"),
            ((1.0, 1.0), r"To keep a value as it is .* 'fixed'"),
            ((0.0, 1.0), "0 < low < high, both finite"),
            ((-1.0, 1.0), "0 < low < high, both finite"),
            ((0.1, np.inf), "both finite"),
            ((0.1, "1"), "both finite"),
            ((0.1,), "must be a pair"),
            (0.1, "must be a pair"),
            (([0.1, 0.1], 1.0), r"shape \(3,\) of the value, got shape \(2,\)"),
            (([0.1, 0.1, 2.0], 1.0), "0 < low < high"),
        ],
    )
    def test_bounds(self, bounds, message):
        with pytest.raises(ValueError, match=f"bounds of 'gamma' .*{message}"):
            Hyperparameter("gamma", np.ones(3), bounds)

    def test_within(self):
        one = listed()[1].within("left").within("kernel")
        assert one.name == "kernel__left__kernel__gamma"
        assert one.shape == (3,)


class TestSpace:
    def test_all_with_their_own_bounds_and_priors(self):
        space = HyperparameterSpace(listed())
        assert space.names == ["alpha", "kernel__gamma", "structure__mu"]
        assert space.size == 5
        assert_allclose(space.start, np.log([1.0, 1.0, 2.0, 4.0, 0.5]))
        low, high = np.exp(space.bounds).T
        assert_allclose(low, [1e-5, 1e-2, 1e-2, 1e-2, 1e-3])
        assert_allclose(high, [1e5, 1e2, 1e2, 1e2, 1e3])
        values = space.unpack(space.start)
        assert type(values["alpha"]) is float
        assert_allclose(values["kernel__gamma"], [1.0, 2.0, 4.0])
        assert_allclose(space.pack(values), space.start)

    @pytest.mark.parametrize(
        "parameters",
        [
            None,
            {"kernel__gamma": "tied"},
            {"structure__mu": Tied("alpha"), "alpha": LogNormal(0.3, 0.7)},
            {"alpha": "fixed", "structure__mu": Flat()},
            ["kernel__gamma"],
        ],
        ids=str,
    )
    def test_gradients(self, parameters):
        space = HyperparameterSpace(listed(), parameters)
        theta = space.start + np.random.default_rng(1).normal(size=space.size)
        value, gradient = space.log_prior(theta)
        found = slopes(lambda t: space.log_prior(t)[0], theta)
        assert_allclose(gradient, found, rtol=1e-7, atol=1e-7)
        by_hand = sum(
            one.prior.log_density(np.log(space.unpack(theta)[one.name]))
            for one in listed()
            if one.name in space.names and not isinstance(parameters, dict)
        )
        if not isinstance(parameters, dict):
            assert value == pytest.approx(by_hand)

        def smooth(theta):
            logs = {name: np.log(v) for name, v in space.unpack(theta).items()}
            return sum(np.sum(np.sin(v) * (i + 1)) for i, v in enumerate(logs.values()))

        logs = {name: np.log(v) for name, v in space.unpack(theta).items()}
        derivatives = {n: np.cos(v) * (i + 1) for i, (n, v) in enumerate(logs.items())}
        derivatives["fixed"] = 7.0
        assert_allclose(space.gradient(derivatives), slopes(smooth, theta), rtol=1e-6)

    def test_tied_entries(self):
        space = HyperparameterSpace(listed(), {"kernel__gamma": "tied"})
        assert space.size == 3
        values = space.unpack(space.start)
        assert_allclose(values["kernel__gamma"], [2.0, 2.0, 2.0])  # the geometric mean
        assert_allclose(space.pack(values), space.start)

    def test_tied_parameters(self):
        space = HyperparameterSpace(listed(), {"alpha": Tied("structure__mu")})
        assert space.size == 4
        values = space.unpack(space.start + 1.0)
        assert values["alpha"] == values["structure__mu"] == pytest.approx(0.5 * np.e)
        # the prior of what is tied does not count beside that of the other
        space = HyperparameterSpace(listed(), {"structure__mu": Tied("alpha")})
        alone = HyperparameterSpace(listed(), ["alpha", "kernel__gamma"])
        assert space.log_prior(space.start)[0] == alone.log_prior(alone.start)[0]

    def test_fixed_or_left_out(self):
        fixed = HyperparameterSpace(listed(), {"kernel__gamma": "fixed"})
        named = HyperparameterSpace(listed(), ["structure__mu", "alpha"])
        assert fixed.names == named.names == ["alpha", "structure__mu"]
        assert HyperparameterSpace(listed(), "alpha").names == ["alpha"]
        nothing = HyperparameterSpace(listed(), [])
        assert nothing.names == []
        assert nothing.unpack(nothing.start) == {}
        assert nothing.pack({}).size == nothing.bounds.size == 0
        assert nothing.log_prior(nothing.start)[0] == 0.0

    @pytest.mark.parametrize("bounds", [(0.1, 3.0), [0.1, 3.0], np.array([0.1, 3.0])])
    def test_bounds_move_the_start(self, bounds):
        space = HyperparameterSpace(listed(), {"kernel__gamma": bounds})
        assert_allclose(np.exp(space.bounds[1:4]), [[0.1, 3.0]] * 3)
        assert_allclose(np.exp(space.start[1:4]), [1.0, 2.0, 3.0])

    @pytest.mark.parametrize("parameters", [None, {"gamma": "tied"}])
    def test_values_never_leave_the_bounds(self, parameters):
        for low in range(1, 60):  # exp(log(5)) is less than 5
            one = Hyperparameter("gamma", np.full(2, 9.0), (low, low + 1))
            space = HyperparameterSpace([one], parameters)
            for theta in space.bounds.T:
                values = space.unpack(theta)["gamma"]
                assert np.all((low <= values) & (values <= low + 1))

    def test_bounds_of_each_value(self):
        low = [0.5, 0.1, 0.01]
        space = HyperparameterSpace(listed(), {"kernel__gamma": (low, 9.0)})
        assert_allclose(np.exp(space.bounds[1:4, 0]), low)

    def test_several_wishes(self):
        way = Learn(bounds=(0.5, 3.0), prior=LogNormal(0.0, 1.0), tied=True)
        space = HyperparameterSpace(listed(), {"kernel__gamma": way, "alpha": "fixed"})
        assert_allclose(np.exp(space.bounds[0]), [0.5, 3.0])
        logs = np.full(3, 0.7)
        expected = way.prior.log_density(logs) + LogNormal(0.0, 2.0).log_density(0.1)
        assert space.log_prior(np.array([0.7, 0.1]))[0] == pytest.approx(expected)

    @pytest.mark.parametrize("parameters", [["gamma"], {"gamma": None}, "gamma"])
    def test_unknown_names(self, parameters):
        message = (
            "'gamma', which is not a continuous parameter here. "
            "The continuous parameters are: 'alpha', 'kern"
        )
        with pytest.raises(ValueError, match=message):
            HyperparameterSpace(listed(), parameters)

    @pytest.mark.parametrize("parameters", [True, 3.0, object()])
    def test_what_is_no_list_of_names(self, parameters):
        with pytest.raises(TypeError, match="parameters must be None, names, or a map"):
            HyperparameterSpace(listed(), parameters)

    @pytest.mark.parametrize("way", ["free", 3.0, object(), LogNormal])
    def test_unknown_ways(self, way):
        message = r"parameters\['alpha'\] must be None, 'fixed', 'tied', a pair"
        with pytest.raises(TypeError, match=message):
            HyperparameterSpace(listed(), {"alpha": way})

    @pytest.mark.parametrize("tied", [[0, 0, 1], "alpha", None, 1])
    def test_tied_is_all_entries_or_none(self, tied):
        with pytest.raises(ValueError, match="tied of Learn must be True or False"):
            Learn(tied=tied)

    @pytest.mark.parametrize("prior", [LogNormal, "flat", (0.0, 1.0)])
    def test_what_is_no_prior(self, prior):
        with pytest.raises(TypeError, match="prior of Learn must be one with log_den"):
            Learn(prior=prior)

    @pytest.mark.parametrize(
        ("name", "way", "message"),
        [
            ("alpha", (2.0, 1.0), "bounds of 'alpha' must be a pair"),
            ("alpha", (1.0, 2.0, 3.0), "bounds of 'alpha' must be a pair"),
            ("alpha", (-1.0, 1.0), "bounds of 'alpha' .* both finite"),
            ("alpha", LogNormal([0.0, 1.0]), "prior of 'alpha' does not fit: mean of"),
            ("kernel__gamma", LogNormal([0.0]), "prior of 'kernel__gamma' does not"),
            (
                "alpha",
                Tied("kernel__gamma"),
                r"tied to 'kernel__gamma' of shape \(3,\)",
            ),
            ("alpha", Tied("alpha"), "tied to 'alpha', which is not learned or tied"),
            ("alpha", Tied("beta"), "tied to 'beta', which is not learned"),
        ],
    )
    def test_ways_that_do_not_fit(self, name, way, message):
        with pytest.raises(ValueError, match=message):
            HyperparameterSpace(listed(), {name: way})

    def test_a_prior_with_a_gradient_of_another_shape(self):
        class Wrong(Flat):
            def gradient(self, logs):
                return np.zeros(2)

        with pytest.raises(ValueError, match=r"gradient of the shape \(3,\)"):
            HyperparameterSpace(listed(), {"kernel__gamma": Wrong()})

    def test_two_of_one_name(self):
        with pytest.raises(
            ValueError, match="Two hyperparameters have the name 'alpha"
        ):
            HyperparameterSpace([listed()[0], listed()[0]])

    @pytest.mark.parametrize(
        "values",
        [
            {"alpha": 1.0},
            {"alpha": 1.0, "kernel__gamma": [1.0, 0.0, 1.0]},
            {"alpha": 1.0, "kernel__gamma": 1.0},
        ],
    )
    def test_values_that_cannot_be_packed(self, values):
        space = HyperparameterSpace(listed(), ["alpha", "kernel__gamma"])
        with pytest.raises(ValueError, match=r"value of 'kernel__gamma' .*\(3,\), got"):
            space.pack(values)


def test_a_kernel_is_found_again_by_its_gradient():
    # least squares between matrices: the kernel that made one is the minimum
    rng = np.random.default_rng(0)
    X = rng.normal(size=(25, 2))
    kernel = Average([0.5 * Linear(), 2 * Matern([1.0, 3.0], 2.5)]) + Gaussian(0.3)
    target = kernel(X)
    hidden = "left__kernels__1__right__length_scale"
    start = clone(kernel).set_params(**{hidden: [2.0, 2.0], "right__gamma": 1.0})
    space = HyperparameterSpace(start.hyperparameters(X), [hidden, "right__gamma"])

    def objective(theta):
        K, pullback = start.set_params(**space.unpack(theta)).value_and_pullback(X)
        difference = K - target
        return 0.5 * np.sum(difference**2), space.gradient(pullback(difference))

    found = minimize(
        objective, space.start, jac=True, method="L-BFGS-B", bounds=space.bounds, tol=0
    )
    assert_allclose(space.unpack(found.x)[hidden], [1.0, 3.0], rtol=1e-4)
    assert space.unpack(found.x)["right__gamma"] == pytest.approx(0.3, rel=1e-4)


class TestDraws:
    def test_moments_of_a_prior(self):
        prior = LogNormal([0.0, 1.0, -1.0], 0.6, 1.5)
        rng = np.random.default_rng(0)
        logs = np.array([prior.draw(rng, (3,)) for _ in range(4000)])
        # four standard errors
        assert_allclose(logs.mean(axis=0), [0.0, 1.0, -1.0], atol=0.11)
        covariance = 0.36 * np.eye(3) + 2.25
        assert_allclose(np.cov(logs.T), covariance, atol=0.25)

    def test_bounds_and_ties(self):
        parameters = {
            "kernel__gamma": Learn(bounds=(0.5, 2.0), prior=LogNormal(0.0, 3.0)),
            "structure__mu": Tied("alpha"),
        }
        space = HyperparameterSpace(listed(), parameters)
        rng = np.random.default_rng(0)
        drawn = [space.unpack(space.draw(rng)) for _ in range(50)]
        gammas = np.array([values["kernel__gamma"] for values in drawn])
        assert gammas.min() == 0.5
        assert gammas.max() == pytest.approx(2.0)
        # without a prior that draws: from all of the bounds
        alphas = np.log10([values["alpha"] for values in drawn])
        assert alphas.min() < -3
        assert alphas.max() > 3
        assert all(values["structure__mu"] == values["alpha"] for values in drawn)

    def test_one_number_for_an_array(self):
        space = HyperparameterSpace(listed(), {"kernel__gamma": "tied"})
        one, other = (space.draw(np.random.default_rng(seed)) for seed in (0, 1))
        assert np.ptp(space.unpack(one)["kernel__gamma"]) == 0
        assert_array_equal(one, space.draw(np.random.default_rng(0)))
        assert np.all(one != other)


class TestValuesWithSigns:
    """Parameters that are learned by their values, beside those of logarithms."""

    VALUE = np.array([[1.0, -2.0], [0.0, 0.5]])

    def listed(self, **changes):
        given = {"prior": Normal(0.2, 0.7), "scale": LinearScale()} | changes
        return [*listed(), Hyperparameter("mixing", self.VALUE, (-9.0, 9.0), **given)]

    def test_of_a_vector(self):
        space = HyperparameterSpace(self.listed(), ["alpha", "mixing"])
        assert_allclose(space.start, [0.0, 1.0, -2.0, 0.0, 0.5])
        assert_allclose(space.bounds[1:], [[-9.0, 9.0]] * 4)
        values = space.unpack(space.start + 0.5)
        assert values["alpha"] == pytest.approx(np.exp(0.5))
        assert_allclose(values["mixing"], self.VALUE + 0.5)
        assert_allclose(space.pack(values), space.start + 0.5)
        with pytest.raises(ValueError, match=r"'mixing' must be finite and of the sha"):
            space.pack({"alpha": 1.0, "mixing": np.full((2, 2), np.nan)})

    def test_gradients(self):
        space = HyperparameterSpace(self.listed())
        theta = space.start + 0.3
        gradient = space.log_prior(theta)[1]
        found = slopes(lambda t: space.log_prior(t)[0], theta)
        assert_allclose(gradient, found, rtol=1e-7, atol=1e-7)

    @pytest.mark.parametrize("mean", [0.3, np.array([[1.0, 0.0], [-1.0, 2.0]])])
    def test_a_normal_prior(self, mean):
        prior = Normal(mean, 0.7)
        expected = norm(mean, 0.7).logpdf(self.VALUE).sum()
        assert prior.log_density(self.VALUE) == pytest.approx(expected)
        assert_allclose(prior.gradient(self.VALUE), (mean - self.VALUE) / 0.49)
        rng = np.random.default_rng(0)
        drawn = np.array([prior.draw(rng, (2, 2)) for _ in range(1000)]) - mean
        assert drawn.std() == pytest.approx(0.7, rel=0.05)
        assert abs(drawn.mean()) < 0.05

    def test_what_is_no_normal_prior(self):
        for mean, std in ((0.0, 0.0), (0.0, -1.0), (0.0, np.inf), (np.nan, 1.0)):
            with pytest.raises(ValueError, match="std of Normal must be finite and"):
                Normal(mean, std)
        with pytest.raises(ValueError, match=r"does not fit: mean of Normal .*\(3,\)"):
            HyperparameterSpace(self.listed(), {"mixing": Normal(np.zeros(3))})

    @pytest.mark.parametrize("prior", [Normal, LogNormal])
    def test_priors_of_what_is_no_number(self, prior):
        for std in ([1.0, 1.0], "x", None):
            with pytest.raises(
                TypeError, match=r"std of .* must be a number, the same"
            ):
                prior(0.0, std)
        for mean in ("x", None, ["a"]):
            with pytest.raises(TypeError, match=r"mean of .* a number, or an array of"):
                prior(mean)

    def test_tied_entries_and_bounds(self):
        ways = {"mixing": Learn(bounds=(-0.2, 3.0), tied=True)}
        space = HyperparameterSpace(self.listed(), ways)
        assert_allclose(space.unpack(space.start)["mixing"], np.full((2, 2), -0.125))
        assert_allclose(space.bounds[-1], [-0.2, 3.0])

    @pytest.mark.parametrize(
        ("ways", "message"),
        [
            ({"mixing": LogNormal()}, "by its value, got LogNormal.* Normal for value"),
            ({"alpha": Normal()}, "learned by its logarithm, got Normal"),
            ({"mixing": (2.0, 1.0)}, r"bounds of 'mixing' .* with low < high, got"),
            ({"mixing": (-np.inf, 1.0)}, "both finite"),
        ],
    )
    def test_what_does_not_fit(self, ways, message):
        with pytest.raises(ValueError, match=message):
            HyperparameterSpace(self.listed(), ways)

    def test_ties_are_of_one_scale(self):
        one = Hyperparameter("offset", 1.0, (-1.0, 2.0), scale=LinearScale())
        with pytest.raises(ValueError, match="'offset' is tied to 'alpha', and one of"):
            HyperparameterSpace([*listed(), one], {"offset": Tied("alpha")})

    @pytest.mark.parametrize("value", [np.nan, [np.inf, 1.0], "scale", []])
    def test_values_are_finite(self, value):
        with pytest.raises(ValueError, match="value of 'mixing' must be finite, got"):
            Hyperparameter("mixing", value, (-1.0, 1.0), scale=LinearScale())
