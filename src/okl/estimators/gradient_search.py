"""A search over continuous hyperparameters by the gradient of a criterion."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.utils import check_random_state
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping

from okl.estimators.best_estimator import ByBestEstimator
from okl.estimators.failed_fits import whole_or_not_at_all
from okl.estimators.gradient_starts import starts_of, trace_table, warn_of_end
from okl.estimators.search.steps import steps_of
from okl.estimators.single_fit import SingleFit
from okl.numerics.validation import (
    check_choice,
    check_count,
    check_flag,
    check_n_jobs,
    check_positive,
)
from okl.parameters import is_learned
from okl.selection.criteria import NAMES
from okl.selection.folds import splitter_of
from okl.selection.learning import Learned

# Calls from the code that warns up to the user's: `fit` and its decorators.
_DEPTH = 4


@contextmanager
def _kept_warnings() -> Iterator[list[tuple[type[Warning], str]]]:
    """Keep what fits warn of, to be given once and at the line of the user's `fit`."""
    found: list[tuple[type[Warning], str]] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        yield found
    found += dict.fromkeys((one.category, str(one.message)) for one in caught)


class GradientSearchCV(CallbackSupportMixin, ByBestEstimator):
    """Learn continuous hyperparameters of an estimator by the gradient of a criterion.

    Positive numbers, and arrays of them as a width for each feature, are far too many
    for a grid. Here all of them move at once, as logarithms, by L-BFGS-B from the
    values that the estimator has; numbers with signs (``structure__mixing``) move as
    they are. What is minimised is the criterion minus the log density of the priors,
    which kernels state relative to the scale of the columns. Then the estimator is
    fitted to all rows, and certified as any fit is.

    Parameters
    ----------
    estimator : OutputKernelRegressor or OutputKernelClassifier
        Its parameters say where the search starts. A kernel with one width for all
        features keeps one; ``Gaussian(gamma=np.ones(n_features))``, or
        `okl.kernels.per_feature`, learns one for each; with `okl.kernels.PerOutput`
        each output, or class, has its own. Of a list of kernels, and of the kernels of
        the nodes of a `Tree`, all are learned.
    parameters : mapping, iterable of str, or None, default=None
        What is learned, by scikit-learn's names: ``alpha``, ``kernel__gamma``,
        ``kernel__left__value``, and where there are several outputs
        ``structure__gamma`` (of ``Mean`` and ``Graph``), ``structure__variances``
        (``Tree``), ``structure__mixing`` (``Mixing``), ``structure__mu`` and
        ``structure__eps`` (``Sparse``), ``structure__eps`` (``TraceBall``),
        ``structure__within`` and ``structure__mean`` (``Cluster``), unless zero (see
        Notes). Those of lists have numbers, ``kernel__0__gamma`` and
        ``structure__1__gamma``, those of kernels of nodes a key,
        ``structure__kernels__2__gamma``. None is all of them, an iterable only those
        named. A mapping says how each is learned: ``"fixed"``, ``(low, high)``,
        ``"tied"`` (one number for all entries of an array), a prior such as
        ``LogNormal``, ``Tied("other name")`` or ``Learn(...)`` of `okl.parameters`;
        what it does not name is learned.
    criterion : str, default="auto"
        What is minimised. With the squared loss and a given output kernel
        ``"restricted_likelihood"``, ``"leave_one_out_error"``,
        ``"leave_one_out_likelihood"`` or ``"folds_error"``, each in closed form; with
        any smooth loss and structure, for a kernel for each output and for several
        kernels ``"folds_likelihood"``, by fits to the folds. ``"auto"`` is the
        likelihood, or with more than a fifth as many features as rows the leave-one-out
        error, where they are in closed form, else the likelihood of folds. If some
        targets of related outputs are missing, a closed form costs the cube of the
        number of targets: ``"auto"`` takes one for up to 2000 of them, and the error of
        folds in the place of the leave-one-out error, which needs one target in each
        row, as data in long form have (``task``). Tasks have one variance of the noise.
    cv : int, splitter, iterable or None, default=None
        Folds of the criteria that have some; None for five, shuffled and stratified.
    priors : bool, default=True
        Whether priors count; without them a criterion may be flat in some directions,
        as in the common scale of a kernel and alpha.
    n_restarts : int, default=0
        Further searches, from draws of the priors. The one with the lowest end counts.
    alpha_per_output : bool, default=False
        Whether each output has an alpha of its own, starting from the estimator's; an
        alpha that is an array is learned as such in any case. Not for ``"softmax"``,
        which is no sum over outputs.
    max_iter : int, default=100
        Most iterations of each search.
    max_time : float or None, default=None
        Seconds after which nothing begins but the evaluation at the end and the fit.
    random_state : int, RandomState or None, default=0
        Of the restarts and, unless ``cv`` is a splitter, of the folds: for other draws
        on the same folds give ``cv=KFold(5, shuffle=True, random_state=0)``.
    n_jobs : int or None, default=None
        Restarts in parallel, by joblib.

    Attributes
    ----------
    best_params_ : dict
        What was learned, as ``set_params`` of the estimator takes it: natural units,
        an array under one name.
    best_estimator_ : estimator
        The estimator with these, fitted to all rows.
    best_score_ : float
        Minus the criterion, without the priors, evaluated at the end without warm
        starts: the larger the better. Scores of different criteria, or targets, cannot
        be compared; under the likelihoods independent outputs have a variance of the
        noise each, tasks and related outputs one together.
    criterion_ : str
        The criterion, as its class is called.
    cv_results_ : dict of arrays
        One row for each iteration of each search: ``start`` (0 is the one from the
        given values), ``iteration``, ``value`` (what is minimised), ``criterion`` (it
        without the priors), ``gradient_norm`` (the largest entry that does not lead out
        of the bounds), and since the start ``seconds``, ``evaluations`` and
        ``products``: those of kernel matrices, of all rows or of the training rows of a
        fold, with matrices of any number of columns. Factorisations and decompositions
        are none; an evaluation without products, as in closed form, counts as one.
    n_iter_ : int
        Iterations of the search that counts, one at least.
    best_start_ : int
        The start that counts; restarts that failed have no number.
    n_features_in_, feature_names_in_, classes_, output_names_
        Those of ``best_estimator_``.

    Notes
    -----
    With a given output kernel, or ``"frobenius"``, a gradient costs about as much as
    the criterion, however many parameters there are, also with several kernels. Other
    learned output kernels (``"low_rank"``, ``"trace_ball"``, ``"sparse"``,
    ``"cluster"``) have no derivative where an entry or an eigenvalue reaches zero: then
    the gradient is by central differences of the likelihood of folds, 2 p + 1 times the
    fits of all folds for p numbers, without warm starts. At most 8 are learned so; name
    few, as ``["alpha", "structure__mu"]``; with other losses than the squared one, or
    an alpha for each output, it is slow. An end is a local minimum.

    References
    ----------
    Rasmussen & Williams (2006), Gaussian processes for machine learning, chapter 5.

    Examples
    --------
    >>> import numpy as np
    >>> from okl import OutputKernelRegressor
    >>> from okl.kernels import Gaussian
    >>> from okl.model_selection import GradientSearchCV
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 3))
    >>> Y = np.column_stack([np.sin(X[:, 0]), np.cos(X[:, 0])])
    >>> model = OutputKernelRegressor(Gaussian(np.ones(3)), "identity")
    >>> np.argmax(GradientSearchCV(model).fit(X, Y).best_params_["kernel__gamma"])
    np.int64(0)
    """

    def __init__(
        self,
        estimator: Any,
        parameters: Mapping[str, Any] | Iterable[str] | None = None,
        *,
        criterion: str = "auto",
        cv: Any = None,
        priors: bool = True,
        n_restarts: int = 0,
        alpha_per_output: bool = False,
        max_iter: int = 100,
        max_time: float | None = None,
        random_state: Any = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.parameters = parameters
        self.criterion = criterion
        self.cv = cv
        self.priors = priors
        self.n_restarts = n_restarts
        self.alpha_per_output = alpha_per_output
        self.max_iter = max_iter
        self.max_time = max_time
        self.random_state = random_state
        self.n_jobs = n_jobs

    def get_metadata_routing(self) -> MetadataRouter:
        """Route metadata of fit to the splitter."""
        to_split = MethodMapping().add(caller="fit", callee="split")
        router = MetadataRouter(owner=self).add_self_request(self)
        splitter = splitter_of(self.cv, random_state=self.random_state)
        return router.add(splitter=splitter, method_mapping=to_split)

    @whole_or_not_at_all
    @with_callbacks
    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        task: Any = None,
        **params: Any,
    ) -> Self:
        """Learn the hyperparameters, then fit on all rows.

        Parameters
        ----------
        X, y, sample_weight, task
            As in `fit` of the estimator. With ``task`` the loss must be squared, and
            the structure fix the output kernel, as ``Mean()`` does, or ``"identity"``.
        **params : dict
            Metadata for the splitter (``groups``).

        Returns
        -------
        self

        Raises
        ------
        ValueError
            For what cannot be used; fewer than five rows; a criterion that is not for
            the loss, structure or targets; parameters that are not continuous, or have
            no influence, as the width of a constant column.
        TypeError
            If the estimator is none of those above.
        MemoryError
            If the kernel matrix and its derivatives cannot fit.
        """
        self._check_parameters()
        context = self._init_callback_context(max_subtasks=self.n_restarts + 2)
        context.call_on_fit_task_begin(estimator=self, X=X, y=y)
        step = steps_of(self, context)
        random_state = check_random_state(self.random_state)
        with _kept_warnings() as before:
            starts = starts_of(self, X, y, sample_weight, task, params)
        for category, text in before:
            warnings.warn(text, category, stacklevel=_DEPTH)
        found = starts.run(self.n_restarts, random_state, step)
        self.criterion_ = type(starts.criterion).__name__
        self._keep(found)
        with step("refit"):
            best = clone(self.estimator).set_params(**self.best_params_)
            with _kept_warnings() as after:
                self._adopt(best.fit(X, y, sample_weight, task))
        for category, text in after:
            if (category, text) not in before:
                warnings.warn(text, category, stacklevel=_DEPTH)
        context.call_on_fit_task_end(estimator=self, X=X, y=y)
        return self

    def _check_parameters(self) -> None:
        """Check what can be checked before looking at the data."""
        if not isinstance(self.estimator, SingleFit):
            raise TypeError(
                "GradientSearchCV needs an OutputKernelRegressor or an "
                f"OutputKernelClassifier, got {self.estimator!r}. For others use "
                "scikit-learn's searches."
            )
        check_choice(self.criterion, "criterion", NAMES)
        check_flag(self.priors, "priors")
        check_flag(self.alpha_per_output, "alpha_per_output")
        if self.alpha_per_output and not is_learned("alpha", self.parameters):
            raise ValueError(
                "alpha_per_output=True needs alpha to be learned, but "
                f"parameters={self.parameters!r} does not include it. Add 'alpha' to "
                "parameters, or leave alpha_per_output out."
            )
        check_count(self.n_restarts, "n_restarts", least=0)
        check_count(self.max_iter, "max_iter")
        if self.max_time is not None:
            check_positive(self.max_time, "max_time")
        check_n_jobs(self.n_jobs)

    def _keep(self, found: list[Learned]) -> None:
        """Set the attributes of the best of several searches, and warn of its end."""
        self.best_start_ = int(np.argmin([one.objective for one in found]))
        best = found[self.best_start_]
        self.cv_results_ = trace_table(found)
        self.best_params_, self.best_score_ = best.parameters, -best.value
        self.n_iter_ = max(1, len(best.trace) - 1)
        warn_of_end(best, _DEPTH + 1)
