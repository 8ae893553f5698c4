"""From words on the command line to kernels, structures and search parameters.

``--kernel`` and ``--structure`` take names of `okl.kernels` and `okl.structures`;
``--kernel auto`` is a learned kernel, ``--kernel short_list`` seven fixed ones;
``--set name=value`` sets any of their parameters, or one of the search, by
scikit-learn's nested names: ``kernel__gamma=0.1``, ``structure__rank=3``,
``loss__delta=2``, ``alphas=10``. A value is read as a Python literal, or as text if it
is none. A parameter that is given twice, also by an option and ``--set``, must have the
same value.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from okl import OutputKernelClassifierCV, OutputKernelRegressorCV
from okl.cli.errors import UserError, listing
from okl.estimators.search.candidates import SHORT_LIST
from okl.estimators.search.to_be_learned import AUTO, is_auto
from okl.kernels import KERNELS, Kernel, as_kernel
from okl.losses import LOSSES, Loss, as_loss
from okl.parameters.component import required_parameters
from okl.structures import STRUCTURES, Structure, Tree

# Parameters of estimators that only an option can set.
_OPTIONS = {
    "kernel": "--kernel",
    "kernels": "--kernel",
    "structure": "--structure",
    "structures": "--structure",
    "cv": "--cv",
}
_TREE = re.compile(r"class_tree=ClassTree\([^)]*\)(, )?")
# A number of so many digits was learned, and not written by a user.
_LEARNED = re.compile(r"\d+\.\d{6,}(e[+-]?\d+)?")


@dataclass(frozen=True)
class Settings:
    """What to fit.

    Attributes
    ----------
    kernels : list of Kernel or "auto", "short_list", or None
        The kernels to choose from, each once; None for one that is learned.
    structures : list of Structure
        The structures asked for, each once.
    search : dict
        Other parameters of the estimators that choose by cross-validation. The loss is
        an object where one of its parameters was set.
    """

    kernels: list[Any] | str | None
    structures: list[Structure]
    search: dict[str, Any]

    @property
    def named_kernels(self) -> list[Kernel]:
        """The kernels that have parameters to set."""
        return [one for one in self.kernels or () if isinstance(one, Kernel)]


def parse_settings(
    kernels: Sequence[str],
    structures: Sequence[str],
    assignments: Iterable[str],
    *,
    loss: str | None = None,
    alpha_per_output: bool = False,
    in_tree: bool = False,
) -> Settings:
    """Build the settings; refuse unknown names, listing the known ones.

    With classes in a tree, the structure of the tree comes first; the tree itself is
    read together with the classes.
    """
    options: dict[str, tuple[str, Any]] = {}
    if loss is not None:
        options["loss"] = (f"--loss {loss}", loss)
    if alpha_per_output:
        options["alpha_per_output"] = ("--alpha-per-output", True)
    values = _said_once(options, assignments)
    if in_tree:
        values.setdefault("loss", "softmax")
    if not kernels and any(name.startswith("kernel__") for name in values):
        kernels = ["rbf"]  # a parameter of a kernel, but no kernel was named
    of_tree = [_unset(Tree)] if in_tree else []
    named = [
        _unset(STRUCTURES[_known(name, STRUCTURES, "--structure")])
        for name in dict.fromkeys(structures)
    ]
    settings = Settings(_kernels(kernels), [*of_tree, *named], {})
    # the loss is set before its parameters
    for name in sorted(values, key=lambda name: "__" in name):
        _set(settings, name, values[name])
    for structure in named:
        _check_set(structure)
    return settings


def _kernels(names: Sequence[str]) -> list[Any] | str | None:
    """Return the kernels to try, as the estimators take them."""
    known = {AUTO: None, SHORT_LIST: None, **KERNELS}
    named = [_known(name, known, "--kernel") for name in dict.fromkeys(names)]
    if SHORT_LIST not in named:
        return [name if is_auto(name) else as_kernel(name) for name in named] or None
    if len(named) > 1:
        raise UserError(
            f"--kernel {SHORT_LIST} is already a list of kernels; leave out the other "
            "kernels."
        )
    return SHORT_LIST


def _unset(cls: type[Structure]) -> Structure:
    """Return a structure; parameters without a default are None until they are set."""
    return cls(**dict.fromkeys(required_parameters(cls)))


def _check_set(structure: Structure) -> None:
    """Refuse a structure with a parameter that needs a value and has none."""
    needed = required_parameters(type(structure))
    missing = [name for name in needed if getattr(structure, name) is None]
    if missing:
        values = " ".join(f"--set structure__{name}=VALUE" for name in missing)
        raise UserError(f"--structure {structure.name} needs {values}.")


def label(structure: Structure) -> str:
    """Return a structure in the words of the command line: ``low_rank(rank=3)``."""
    arguments = repr(structure).removeprefix(type(structure).__name__)
    arguments = _TREE.sub("", arguments)  # there is only one tree
    arguments = _LEARNED.sub(lambda number: f"{float(number[0]):.4g}", arguments)
    name = structure.name or type(structure).__name__.lower()
    return f"{name}{arguments.removesuffix('()')}"


def _said_once(
    options: Mapping[str, tuple[str, Any]], assignments: Iterable[str]
) -> dict[str, Any]:
    """Return the values of parameters by their names.

    Raises
    ------
    UserError
        If a parameter has two values, in options or assignments, or if only an option
        can set it.
    """
    said = dict(options)
    for assignment in assignments:
        name, equals, text = assignment.partition("=")
        name, text = name.strip(), text.strip()
        if not (name and equals and text):
            lacks = "'='" if not equals else "value" if name else "name"
            raise UserError(
                f"--set {assignment} has no {lacks}; expected name=value, such as "
                "kernel__gamma=0.1."
            )
        if name in _OPTIONS:
            option = _OPTIONS[name]
            raise UserError(f"--set {assignment}: give {option} {text} instead.")
        value = _value(text)
        earlier, known = said.setdefault(name, (f"--set {assignment}", value))
        if known != value:
            raise UserError(
                f"{earlier} and --set {assignment} contradict each other; leave one of "
                "them out."
            )
    return {name: value for name, (_, value) in said.items()}


def _set(settings: Settings, name: str, value: Any) -> None:
    owner, nested, parameter = name.partition("__")
    objects: Sequence[Kernel | Structure | Loss] = []
    if nested and owner == "loss":
        objects = [_loss_to_set(settings, name)]
    if nested and owner in ("kernel", "structure", "loss"):
        among = objects
        if owner == "kernel":
            among = settings.named_kernels
        elif owner == "structure":
            among = settings.structures
        objects = [thing for thing in among if parameter in thing.get_params()]
    elif name in _search_parameters():
        settings.search[name] = value
        return
    if not objects:
        raise UserError(
            f"--set does not know {name}. With these kernels and structures it "
            f"knows: {listing(_known_names(settings), 40)}."
        )
    for thing in objects:
        thing.set_params(**{parameter: value})


def _loss_to_set(settings: Settings, name: str) -> Loss:
    """Return the loss of the search, made an object if it was a name."""
    loss = settings.search.get("loss")
    if loss is None:
        parameter = name.partition("__")[2]
        have = [n for n, cls in LOSSES.items() if parameter in cls().get_params()]
        raise UserError(
            f"--set {name} is a parameter of a loss, and no loss is given: add --loss"
            + (f" {' or '.join(have)}." if have else f", one of: {listing(LOSSES)}.")
        )
    if not isinstance(loss, Loss):
        loss = settings.search["loss"] = as_loss(_known(str(loss), LOSSES, "--loss"))
    return loss


def _search_parameters() -> set[str]:
    names: set[str] = set()
    for search in (OutputKernelRegressorCV(), OutputKernelClassifierCV()):
        names |= set(search.get_params(deep=False))
    return names - set(_OPTIONS)


def _known_names(settings: Settings) -> list[str]:
    names: set[str] = set()
    for kernel in settings.named_kernels:
        names |= {f"kernel__{name}" for name in kernel.get_params()}
    for structure in settings.structures:
        names |= {f"structure__{name}" for name in structure.get_params()}
    if isinstance(settings.search.get("loss"), Loss):
        names |= {f"loss__{name}" for name in settings.search["loss"].get_params()}
    return sorted(names | _search_parameters())


def _known(name: str, table: Mapping[str, Any], option: str) -> str:
    if name not in table:
        raise UserError(
            f"{option} {name} is unknown; expected one of: {listing(table)}."
        )
    return name


def _value(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text
