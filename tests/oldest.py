"""The fast tests with the oldest versions of other libraries that okl may be used with.

    python -m tests.oldest

`pyproject.toml` says of each library from which version on it is enough. That is true
of what is tested only: here what okl and its extras need is installed in just these
versions, into a fresh environment, beside the newest of what developers use.
"""

import subprocess
import sys
import tempfile
import tomllib
import venv
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[1]


def oldest(*extras):
    """Return what pip is to be held to: a line for each requirement."""
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["project"]
    wanted = list(project["dependencies"])
    for extra in extras:
        wanted += project["optional-dependencies"][extra]
    libraries = [one for one in wanted if not one.startswith("okl[")]
    return "".join(one.replace(">=", "==") + "\n" for one in libraries)


def main():
    with tempfile.TemporaryDirectory() as folder:
        held = Path(folder) / "oldest.txt"
        held.write_text(oldest("plot", "cli", "gpu"))
        print(held.read_text())
        venv.create(Path(folder) / "fresh", with_pip=True)
        python = Path(folder) / "fresh" / "bin" / "python"
        install = (python, "-m", "pip", "--quiet", "install", "--constraint", held)
        subprocess.run([*install, "--editable", ".[dev]"], cwd=CHECKOUT, check=True)
        tests = ("-m", "not slow and not product", "-n", "auto", "--dist", "worksteal")
        done = subprocess.run(
            [python, "-m", "pytest", "-p", "no:cacheprovider", *tests, *sys.argv[1:]],
            cwd=CHECKOUT,
            check=False,
        )
    sys.exit(done.returncode)


if __name__ == "__main__":
    main()
