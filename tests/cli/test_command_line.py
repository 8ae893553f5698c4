"""The program itself: version, missing libraries, what imports what."""

import subprocess
import sys
from typing import get_type_hints

import okl as package
from okl.cli.app import app
from okl.structures import STRUCTURES


def run_python(code):
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )


def test_the_help_names_every_structure_and_the_kernels_that_are_learned():
    (fit,) = [one for one in app.registered_commands if one.callback.__name__ == "fit"]
    hints = get_type_hints(fit.callback, include_extras=True)
    structure, kernel, loss = (
        next(m.help for m in hints[name].__metadata__)
        for name in ("structure", "kernel", "loss")
    )
    assert all(name in structure for name in STRUCTURES)
    assert "plus a Matern, Laplacian or Gaussian kernel, or a mean of two" in kernel
    assert "widths and weights learned from the table" in kernel
    assert "logistic for two classes or several columns of labels" in loss


def test_version(okl):
    assert okl("--version").stdout.strip() == f"okl {package.__version__}"


# What is slow is to start Python and to import libraries: that is done once, and a
# process forked for each module that is missing, which imports okl's command line anew.
# scikit-learn imports pandas and rich where they are installed: okl is to import
# nothing that it would have to look for. Displays import matplotlib and networkx in
# plot (tests/plotting hides the two).
_WITHOUT = """
import gc, os, sys
import sklearn.callback, sklearn.metrics, sklearn.model_selection
extra, wanted = {extra!r}, []
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name in extra or name in ("okl.plotting", "okl.cli"):
            wanted.append(name)
        if name in extra:
            raise ModuleNotFoundError(name)
imported = {{name: sys.modules.pop(name) for name in extra if name in sys.modules}}
finder = Finder()
sys.meta_path.insert(0, finder)
import okl
print(okl.__version__, wanted, flush=True)
import okl.plotting, okl.cli
print(wanted, flush=True)
sys.meta_path.remove(finder)
sys.modules.update(imported)
import okl.cli.app, okl.cli.fit
for name in [name for name in sys.modules if name.startswith(("okl.cli", "okl.plot"))]:
    del sys.modules[name]
gc.freeze()  # no process looks through these
for module in {modules!r}:
    if not os.fork():
        for name in [name for name in sys.modules if name.startswith(module + ".")]:
            del sys.modules[name]
        sys.modules[module] = None
        sys.argv = {arguments!r}
        from okl.cli import main
        code = 0
        try:
            main()
        except SystemExit as end:
            code = end.code
        sys.stderr.flush()
        os._exit(code)  # not to take all modules apart
    print(module, os.waitstatus_to_exitcode(os.wait()[1]), flush=True)
    print("end of", module, file=sys.stderr, flush=True)
os._exit(0)
"""


def test_importing_okl_is_light_and_a_missing_library_is_explained(
    related_csv, tmp_path
):
    modules = ["typer", "pandas", "skops", "matplotlib", "rich"]
    extra = [*modules, "pyarrow", "networkx", "polars", "cvxpy"]
    fit = ["okl", "fit", str(related_csv), "--target", "y_a"]
    arguments = [*fit, "--out", str(tmp_path / "out")]
    each = [*modules, "okl.cli.app"]
    result = run_python(_WITHOUT.format(extra=extra, modules=each, arguments=arguments))
    codes = [f"{module} 2" for module in modules]
    light, of_parts, *ends = result.stdout.split("\n")[:-1]
    assert light == f"{package.__version__} []", result.stderr
    assert of_parts == "['okl.plotting', 'okl.cli']"
    assert ends == [*codes, "okl.cli.app 1"]
    rest = result.stderr
    for module in modules:
        said, end, rest = rest.partition(f"end of {module}\n")
        assert end
        assert module in said
        assert 'pip install "okl[cli]"' in said
        assert "Traceback" not in said
    assert "Traceback" in rest
    assert "pip install" not in rest
    assert not (tmp_path / "out").exists()


def test_warnings_are_one_line_each(okl, related_csv, tmp_path):
    result = okl(
        *("fit", related_csv, "--target", "y_*", "--out", tmp_path / "out"),
        *("--set", "max_iter=1", "--set", "alphas=3", "--set", "tol=1e-12"),
        *("--kernel", "rbf"),
    )
    assert result.exit_code == 0
    warned = [line for line in result.stderr.splitlines() if "max_iter" in line]
    assert warned
    assert all(line.startswith("okl: warning: ") for line in warned)
    assert "status       max_iter" in result.stdout
