"""The Makefile asks for a Python that is new enough before it does anything."""

import shutil
import subprocess
from pathlib import Path

import pytest

MAKEFILE = Path(__file__).resolve().parents[1] / "Makefile"

pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="needs make")


def interpreter(path, version):
    """Write what answers as an old Python does, or one without its venv module."""
    path.write_text(
        "#!/bin/sh\n"
        f'case "$1" in --version) echo "Python {version}" ;; *) exit 1 ;; esac\n'
    )
    path.chmod(0o755)
    return path


@pytest.mark.parametrize("target", ["demo", "test"])
def test_an_old_python_is_refused_by_a_sentence(tmp_path, target):
    shutil.copy(MAKEFILE, tmp_path)
    (tmp_path / "pyproject.toml").touch()
    old = interpreter(tmp_path / "python3", "3.9.18")
    missing = tmp_path / "nothing"
    for python, what in [(old, "Python 3.9.18"), (missing, "not found")]:
        found = subprocess.run(
            ["make", target, f"PYTHON={python}"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert found.returncode == 2
        assert f"needs Python 3.11 or newer with its venv module; {python}" in (
            found.stderr
        )
        assert what in found.stderr.splitlines()[0]
        assert f"make {target} PYTHON=python3.12" in found.stderr
        assert not (tmp_path / ".venv").exists()
