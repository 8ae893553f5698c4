"""``okl demo digits``: the digits of scikit-learn, where relations do not pay.

1000 of the 1797 images (8 x 8 pixels, ten classes) are written to a table and fitted
exactly as ``okl fit`` would do it. The others are predicted by every structure that was
compared.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from okl.cli.fit import fit_table
from okl.cli.settings import label
from okl.cli.staging import staged_folder
from okl.cli.tables import read_table, write_table

_N_TRAIN = 1000


def run_digits(out: Path, *, note: Callable[[str], None] = lambda line: None) -> str:
    """Write the tables, fit, and predict the other digits.

    Parameters
    ----------
    out : Path
        The folder for tables, model, pictures and report.
    note : callable
        Takes a line to show before the work begins.

    Returns
    -------
    str
        The report, the accuracy of each structure, and where things are.
    """
    digits = load_digits(as_frame=True).frame.rename(columns={"target": "digit"})
    train, test = train_test_split(
        digits, train_size=_N_TRAIN, stratify=digits["digit"], random_state=0
    )
    train_path, test_path = out / "digits_train.csv", out / "digits_test.csv"
    with staged_folder(out) as folder:
        write_table(train, folder / train_path.name)
        write_table(test, folder / test_path.name)
    fit = fit_table(
        train_path,
        ["digit"],
        out,
        task="classification",
        structures=["frobenius", "low_rank"],
        kernels=["short_list"],
        assignments=["loss=squared"],
        note=note,
    )
    unseen = read_table(test_path)
    lines = [f"Accuracy on the {len(unseen)} digits that no fit has seen:"]
    for candidate, model in zip(fit.outcome.candidates, fit.models, strict=True):
        accuracy = (model.predict(unseen)["digit"] == unseen["digit"]).mean()
        lines.append(f"  {label(candidate.structure):12} {accuracy:.4f}")
    lines += [
        "",
        f"Pictures: {', '.join(str(p) for p in sorted(out.glob('*.png')))}",
        "The same by hand:",
        f"  okl fit {train_path} --target digit --task classification \\",
        "      --structure frobenius --structure low_rank --loss squared \\",
        f"      --kernel short_list --out {out}",
        f"  okl predict {out / 'model.skops'} {test_path} --out predictions.csv",
    ]
    return fit.report + "\n" + "\n".join(lines)
