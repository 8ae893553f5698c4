"""The program itself: version, missing libraries, what imports what."""

import subprocess
import sys

import pytest

import okl as package


def run_python(code):
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )


def test_version(okl):
    assert okl("--version").stdout.strip() == f"okl {package.__version__}"


def test_importing_okl_needs_none_of_the_extra():
    extra = ["typer", "rich", "pandas", "pyarrow", "skops", "matplotlib", "networkx"]
    result = run_python(
        f"import sys; sys.modules.update(dict.fromkeys({extra}))\n"
        "import okl, okl.cli; print(okl.__version__)"
    )
    assert result.stdout.strip() == package.__version__, result.stderr


@pytest.mark.parametrize("module", ["typer", "pandas", "skops", "matplotlib", "rich"])
def test_a_missing_library_is_explained(module, related_csv, tmp_path):
    arguments = ["okl", "fit", str(related_csv), "--target", "y_a"]
    result = run_python(
        f"import sys; sys.modules[{module!r}] = None\n"
        f"sys.argv = {[*arguments, '--out', str(tmp_path / 'out')]!r}\n"
        "from okl.cli import main; main()"
    )
    assert result.returncode == 2
    assert 'pip install "okl[cli]"' in result.stderr
    assert "Traceback" not in result.stderr
    assert not (tmp_path / "out").exists()


def test_a_part_of_okl_that_is_missing_is_a_bug():
    result = run_python(
        "import sys; sys.modules['okl.cli.app'] = None\n"
        "from okl.cli import main; main()"
    )
    assert "Traceback" in result.stderr
    assert "pip install" not in result.stderr


def test_warnings_are_one_line_each(okl, related_csv, tmp_path):
    result = okl(
        *("fit", related_csv, "--target", "y_*", "--out", tmp_path / "out"),
        *("--set", "max_iter=1", "--set", "alphas=3", "--set", "tol=1e-12"),
    )
    assert result.exit_code == 0
    warned = [line for line in result.stderr.splitlines() if "max_iter" in line]
    assert warned
    assert all(line.startswith("okl: warning: ") for line in warned)
    assert "status       max_iter" in result.stdout
