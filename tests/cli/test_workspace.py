"""Hidden folders: gone in the end, and those of killed processes with the next."""

import os
import signal
import subprocess
import sys
import time

import pytest

from okl.cli.workspace import remove_abandoned, workspace
from tests.cli.conftest import ALONE

DAY = 24 * 3600


def age(folder, seconds):
    """Let a folder be as old."""
    then = time.time() - seconds
    for path in [*folder.rglob("*"), folder]:
        os.utime(path, (then, then))


def abandoned(home, name=".okl-abcd_123", lock=True):
    """Make a folder as a killed process leaves it."""
    (home / name / "files").mkdir(parents=True)
    (home / name / "files" / "model.skops").write_text("half")
    if lock:
        (home / name / "lock").write_text("")
    return home / name


def test_the_folder_of_a_killed_process_goes(tmp_path):
    folder = abandoned(tmp_path)
    remove_abandoned(tmp_path)
    assert folder.exists()  # it might be about to take its lock
    age(folder, 120)
    with workspace(tmp_path) as files:
        assert [path.name for path in tmp_path.iterdir()] == [files.parent.name]
    assert list(tmp_path.iterdir()) == []


def test_a_folder_in_use_stays_however_old(tmp_path):
    with workspace(tmp_path) as files:
        age(files.parent, 30 * DAY)
        remove_abandoned(tmp_path)
        assert files.exists()


@pytest.mark.parametrize("lock", [True, False])
def test_without_locks_a_day_counts(tmp_path, monkeypatch, lock):
    monkeypatch.setattr("okl.cli.workspace.fcntl", None)
    folder = abandoned(tmp_path, lock=lock)
    age(folder, 0.9 * DAY)
    remove_abandoned(tmp_path)
    assert folder.exists()
    age(folder, 1.1 * DAY)
    remove_abandoned(tmp_path)
    assert not folder.exists()


def test_folders_of_others_stay(tmp_path):
    for name in (".okl-notes", ".okl-backups_2x", "okl-abcd_123"):
        abandoned(tmp_path, name)
    mine = abandoned(tmp_path)
    (mine / "thesis.tex").write_text("mine")
    (tmp_path / ".okl-file_123").write_text("mine")
    elsewhere = abandoned(tmp_path, "elsewhere")
    (tmp_path / ".okl-link_123").symlink_to(elsewhere)
    before = sorted(tmp_path.rglob("*"))
    for path in [*before, tmp_path]:
        os.utime(path, (0, 0), follow_symlinks=False)
    remove_abandoned(tmp_path)
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.skipif(sys.platform == "win32", reason="Windows ends processes outright")
def test_sigterm_cleans_up(tmp_path):
    # the work of a command, without the libraries that take seconds to import
    code = (
        f"{ALONE}"
        "import time, okl.cli\n"
        "from pathlib import Path\n"
        "from okl.cli.staging import staged_folder\n"
        "def work():\n"
        f"    with staged_folder(Path({str(tmp_path / 'out')!r})):\n"
        "        print('ready', flush=True)\n"
        "        time.sleep(60)\n"
        "sys.modules['okl.cli.app'] = types.SimpleNamespace(app=work)\n"
        "okl.cli.main()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout.readline() == "ready\n"
        (folder,) = tmp_path.iterdir()
        age(folder, 30 * DAY)
        remove_abandoned(tmp_path)
        assert folder.exists()
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=30) == 128 + signal.SIGTERM
        assert process.stderr.read() == ""
    assert list(tmp_path.iterdir()) == []
