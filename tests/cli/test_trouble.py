"""Full disks, empty destinations, numbers that overflow: one line, nothing written."""

import errno
import subprocess
import sys
import warnings
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from okl.cli import fit as fit_module
from okl.cli import predict as predict_module
from okl.cli.relations import Relation, Relations
from okl.cli.terminal import refusals_and_warnings
from tests.cli.conftest import ALONE, FEW, SMALL


@contextmanager
def files_of_at_most(size):
    """Limit the size of files, as a full disk does: see `ulimit -f`."""
    resource = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def last_line(result):
    """Return the error, after checking that it is one line, and all there is."""
    assert result.exit_code == 2
    assert result.stdout == ""
    *notes, error = result.stderr.splitlines()
    assert all(note.startswith("okl: ") for note in notes)
    assert error.startswith("okl: error: ")
    return error


def test_a_fit_whose_files_do_not_fit(okl, related_csv, tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    (out / "report.txt").write_text("old")
    arguments = ("fit", related_csv, "--target", "y_*", "--out", out, *SMALL)
    with files_of_at_most(5000):
        result = okl(*arguments)
    assert last_line(result) == (
        f"okl: error: cannot write {out}: File too large. Nothing was written; make "
        "room, or give another --out."
    )
    assert [path.name for path in out.iterdir()] == ["report.txt"]
    assert (out / "report.txt").read_text() == "old"


@pytest.mark.parametrize("suffix", ["csv", "csv.gz", "tsv", "parquet"])
def test_predictions_that_do_not_fit(okl, fitted, tmp_path, suffix):
    out = tmp_path / f"p.{suffix}"
    out.write_text("old")
    with files_of_at_most(500):
        model = fitted[0] / "out" / "model.skops"
        result = okl("predict", model, fitted[0] / "table.csv", "--out", out)
    assert f"cannot write {out}: File too large" in last_line(result)
    assert [path.name for path in tmp_path.iterdir()] == [out.name]
    assert out.read_text() == "old"


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT, errno.EROFS])
def test_a_full_disk(okl, fitted, tmp_path, monkeypatch, code):
    def fail(*args):
        raise OSError(code, "full")

    monkeypatch.setattr(predict_module, "write_table", fail)
    model = fitted[0] / "out" / "model.skops"
    result = okl("predict", model, fitted[0] / "table.csv", "--out", tmp_path / "p.csv")
    assert "p.csv: " in last_line(result)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_a_full_disk_behind_stdout(monkeypatch):
    # what waits in a buffer is written once more in the end
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)
    code = f"{ALONE}sys.argv = ['okl', '--version']; import okl.cli; okl.cli.main()"
    with Path("/dev/full").open("w") as full:
        result = subprocess.run(
            [sys.executable, "-c", code],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert result.returncode == 2
    assert result.stderr == (
        "okl: error: cannot print: No space left on device. Files that were written "
        "are complete.\n"
    )


@pytest.mark.parametrize("empty", ["", " "])
def test_an_empty_destination_is_not_this_folder(
    okl, fitted, tmp_path, monkeypatch, empty
):
    monkeypatch.chdir(tmp_path)
    model, table = fitted[0] / "out" / "model.skops", fitted[0] / "table.csv"
    for arguments in (
        ("fit", table, "--target", "y_*"),
        ("predict", model, table),
        ("demo",),
    ):
        line = last_line(okl(*arguments, "--out", empty))
        assert line == (
            "okl: error: --out is empty; give a name, or . for the current folder."
        )
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (MemoryError("Unable to allocate 9 TiB"), "not enough memory: Unable to alloc"),
        (OverflowError(34, "Result out of range"), "too large or too small to compute"),
        (np.linalg.LinAlgError("Eigenvalues"), "too large or too small to compute"),
    ],
)
def test_what_no_computer_can_do(
    okl, related_csv, tmp_path, monkeypatch, error, message
):
    def fail(*args, **kwargs):
        raise error

    monkeypatch.setattr(fit_module, "search_structures", fail)
    out = tmp_path / "out"
    result = okl("fit", related_csv, "--target", "y_a", "--out", out)
    assert message in last_line(result)
    assert not out.exists()


@pytest.mark.filterwarnings("default::RuntimeWarning")
@pytest.mark.parametrize("value", ["[1e300]", "[1e-300]", "[0]", "[1e400]", "wide"])
def test_alphas_that_no_float_can_square(okl, related_csv, tmp_path, value):
    out = tmp_path / "out"
    result = okl(
        *("fit", related_csv, "--target", "y_*", "--out", out),
        *("--kernel", "rbf", "--set", f"alphas={value}"),
    )
    if result.exit_code:  # a fit that succeeds is as good
        last_line(result)
        assert not out.exists()


def test_control_codes_are_spelt_out(okl, related, tmp_path):
    table = related[["height", "width"]].assign(
        **{"y\x1b[31mred": related["y_a"], "y\nb\u202e": related["y_b"]}
    )
    table["\x07town"] = [f"\x1b[2J{i}" for i in range(len(table))]
    table.to_csv(tmp_path / "table.csv", index=False)
    result = okl(
        *("fit", tmp_path / "table.csv", "--target", "y*", "--out", tmp_path / "out"),
        *SMALL,
    )
    assert result.exit_code == 0, result.stderr
    report = (tmp_path / "out" / "report.txt").read_text()
    for text in (result.stdout, result.stderr, report):
        assert not set(text) & {"\x1b", "\x07", "\u202e"}
    assert r": y\x1b[31mred, y\nb\u202e" in report
    strange = Relation("y\x1b", "y\nb", 0.5)
    (section,) = Relations([strange], 2, "mean", saved=True).sections()
    assert r"+0.50  y\x1b -- y\nb" in section
    assert rf"the text column \x07town has {len(table)} values" in result.stderr
    assert "Glyph" not in result.stderr
    result = okl("fit", tmp_path / "table.csv", "--target", "z", "--out", tmp_path)
    assert r"The table has: height, width, y\x1b[31mred" in last_line(result)


def test_a_warning_is_said_once(capsys):
    with refusals_and_warnings():
        warnings.simplefilter("always")
        for text in ("rain", "rain", "hail"):
            warnings.warn(text, stacklevel=1)
    said = capsys.readouterr().err.splitlines()
    assert said == ["okl: warning: rain", "okl: warning: hail"]


def test_classes_of_few_rows_are_not_taken_for_numbers(okl, tmp_path):
    # as scikit-learn does in folds where more than half of the rows differ in class
    rows = [f"{i % 5}.{i},{'ab'[i % 2]}/{i % 20}" for i in range(60)]
    table = tmp_path / "table.csv"
    table.write_text("\n".join(["x,k", *rows]), encoding="utf-8")
    tree = ["--target", "k", "--tree", "paths", "--out", tmp_path / "result"]
    result = okl("fit", table, *tree, *FEW)
    assert result.exit_code == 0, result.stderr
    assert "regression" not in result.stderr
