"""Classification: binary, multiclass and multilabel."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike

from okl.estimators.classification import ClassificationMixin
from okl.estimators.single_fit import SingleFit
from okl.losses import Loss
from okl.solvers import Solver


class OutputKernelClassifier(ClassificationMixin, SingleFit):
    """Kernel classification that learns how the classes, or labels, are related.

    Labels are coded as numbers by the loss (-1 and +1, one output for two classes,
    else one per class or label; 0 and 1, one output per class, for the softmax loss),
    and the problem and its certificate are those of `OutputKernelRegressor` on these
    targets, which are not normalised. The predicted class is the one with the largest
    score; a label is predicted where its score is positive. With ``loss="logistic"`` or
    ``"softmax"`` there are probabilities.

    Parameters
    ----------
    kernel : str, Kernel or callable, default="rbf"
        The input kernel: a name or object of `okl.kernels`, a function of two
        matrices, a kernel of `sklearn.gaussian_process.kernels`, or
        ``"precomputed"`` (X is the kernel matrix). A list of kernels, the last perhaps
        `okl.kernels.Row`, for a sum of functions each with its own output kernel.
    structure : str or Structure, default="frobenius"
        The penalty R on the output kernel, see `okl.structures`; of several kernels a
        list with one for each.
    alpha : float or array (n_outputs,), default=1.0
        Strength of the regularisation, > 0. With one for each class (label, task) the
        loss of output j is divided by alpha_j; not for ``"softmax"``, which is no sum
        over outputs.
    loss : str or Loss, default="squared"
        The loss V: ``"squared"``, ``"logistic"``, ``"softmax"`` (not for label
        indicators), ``"hinge"`` or ``"squared_hinge"``, see `okl.losses`.
    class_weight : "balanced", dict or None, default=None
        Weights of the classes in the loss, as in scikit-learn; not for label
        indicators.
    temperature : float or array (n_labels,), default=1.0
        What scores are divided by before the softmax, or the logistic function, makes
        probabilities of them, > 0; label indicators may have one for each label.
        Besides probabilities only decisions by costs (`predict`, `predict_node`) depend
        on it. `OutputKernelClassifierCV` chooses one, its ``temperature_``.
    fit_intercept : bool, default=True
        Whether to fit an intercept, which is not penalised. Where a class of a tree has
        no rows there is none, with a warning: it would make that class impossible.
    solver : str or Solver, default="auto"
        See `okl.solvers`.
    tol : float, default=1e-6
        Relative duality gap to stop at.
    max_iter : int, default=1000
        Most iterations of the solver.
    max_memory : float or None, default=None
        MiB that the kernel matrix may take, with what it is decomposed into; None for
        half of what is free. A matrix that does not fit is evaluated again, in blocks
        of rows, for each product.

    Attributes
    ----------
    classes_ : array (n_classes,)
        The classes; ``arange(n_labels)`` for label indicators.
    dual_coef_, intercept_, rank_, output_kernel_, output_kernels_
        As in `OutputKernelRegressor`, with one output per class or label; for two
        classes there is one output, ``dual_coef_`` is (n_samples,) and
        ``output_kernel_`` is (1, 1).
    output_kernel_factor_, residual_kernel_
        As in `OutputKernelRegressor`.
    certificate_, history_, n_iter_, kernel_, structure_, loss_, X_fit_
        As in `OutputKernelRegressor`.
    dual_point_ : array of the shape of ``dual_coef_``
        Only for ``loss="hinge"``, which has no gradient at its kink: alpha C, a
        support vector where it is not zero; in long form (n_samples,). `okl.certify`
        takes it as ``dual_point``. ``dual_coef_`` is ``dual_point_ @ output_kernel_ /
        alpha`` (of several alphas the geometric mean), zeros included. Only with a
        learned L, where ``tol`` is near to rounding or the rank is bounded, it may be
        that of a model without zeros instead, which is nearer to the optimum.
    completion_ : Completion
        Only where labels of the fit are inner nodes of the structure's tree: the rounds
        of expectation-maximisation, with ``objectives``, the observed penalised
        negative log likelihood after each, which never increases, and
        ``certificates``, that of each M step.
    output_names_ : array (n_labels,) or (n_tasks,)
        The column names of y, if it was a DataFrame of label indicators; in long form
        the ids of the tasks.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    A fit ends at the relative duality gap ``tol``, and predictions are known to about
    its square root: with L given and no intercept a score of output j is within
    ``sqrt(2 * certificate_.gap * k(x, x) * L_jj / alpha)`` of the optimal one. The
    squared loss is mostly solved to rounding. With the other losses two fits to one
    problem by different steps, such as one with weights and one with rows repeated,
    agree no further than that: to three or four digits with the default ``tol``, and
    with ``tol=1e-16`` to the seven that scikit-learn's checks of ``sample_weight``
    compare. That takes half as many iterations again where L is known; where it is
    learned it can take many more, and end with a warning.

    With ``structure=okl.structures.Tree(class_tree)`` and ``loss="softmax"`` a label
    may be an inner node: the class is known to be below it. Its loss is minus the log
    of the sum of the probabilities of the leaves there. The problem is then not convex.
    It is solved by expectation-maximisation, each of whose steps is a certified fit;
    ``certificate_`` is that of the problem with the targets that the model expects
    itself, and its status is ``"stationary"``.

    References
    ----------
    Dinuzzo, Ong, Gehler & Pillonetto (2011), Learning output kernels with block
    coordinate descent. ICML, section 2.2.
    Seeger (2006), Cross-validation optimization for structured Hessian kernel methods,
    sections 4 and 7.3.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from okl import OutputKernelClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = OutputKernelClassifier(alpha=0.1).fit(X, y)
    >>> model.predict(X[:2])
    array([0, 0])
    >>> model.output_kernel_.shape
    (3, 3)
    """

    def __init__(
        self,
        kernel: Any = "rbf",
        structure: Any = "frobenius",
        alpha: Any = 1.0,
        *,
        loss: str | Loss = "squared",
        class_weight: Any = None,
        temperature: float | ArrayLike = 1.0,
        fit_intercept: bool = True,
        solver: str | Solver = "auto",
        tol: float = 1e-6,
        max_iter: int = 1000,
        max_memory: float | None = None,
    ) -> None:
        super().__init__(
            kernel,
            structure,
            alpha,
            loss=loss,
            fit_intercept=fit_intercept,
            solver=solver,
            tol=tol,
            max_iter=max_iter,
            max_memory=max_memory,
        )
        self.class_weight = class_weight
        self.temperature = temperature
