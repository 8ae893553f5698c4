"""The hidden folder where results are written until they are complete.

Its name is ``.okl-`` and eight random characters. It is removed when the work ends,
also by an error or Ctrl-C. A process that is killed (SIGKILL, a power cut) leaves its
folder behind, and the next process that works in the same place removes it.

To protect the folder of a running fit, each process holds a lock on a file in its
folder. The system releases the lock when the process ends: if the lock of a folder is
free, its process has ended. Where there are no such locks (Windows, some network file
systems), a folder counts as left behind when nothing in it has changed for a day.
"""

from __future__ import annotations

import os
import re
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

_PREFIX = ".okl-"
_NAME = re.compile(r"\.okl-[a-z0-9_]{8}")
_CONTENT = {"files", "lock"}
_SETTLED = 60  # seconds after which a new folder has its lock for certain
_DAY = 24 * 3600


@contextmanager
def workspace(home: Path) -> Iterator[Path]:
    """Yield an empty folder inside a new workspace in ``home``, removed at the end."""
    remove_abandoned(home)
    with TemporaryDirectory(prefix=_PREFIX, dir=home) as name:
        # Temporary folders are private; one inside has the usual permissions.
        files = Path(name) / "files"
        files.mkdir()
        with (Path(name) / "lock").open("w") as lock:
            # Without locks, the age of a folder counts.
            with suppress(OSError):
                _locked(lock)
            yield files


def remove_abandoned(home: Path) -> None:
    """Remove the folders in a folder that killed processes left there.

    Only folders of this user with the name and the content of a workspace are
    considered. One that cannot be removed stays; it does no harm.
    """
    with suppress(OSError):
        for folder in home.iterdir():
            if _NAME.fullmatch(folder.name) and _is_abandoned(folder):
                shutil.rmtree(folder, ignore_errors=True)


def _is_abandoned(folder: Path) -> bool:
    try:
        about = folder.lstat()
        mine = not hasattr(os, "getuid") or about.st_uid == os.getuid()
        if folder.is_symlink() or not folder.is_dir() or not mine:
            return False
        if not {path.name for path in folder.iterdir()} <= _CONTENT:
            return False
        changed = max(path.lstat().st_mtime for path in [folder, *folder.rglob("*")])
    except OSError:  # removed meanwhile
        return False
    age = time.time() - changed
    try:
        with (folder / "lock").open("r+") as lock:
            return _locked(lock) and age > _SETTLED
    except OSError:  # no lock, or a system without them
        return age > _DAY


def _locked(file: IO[str]) -> bool:
    """Lock a file until it is closed; tell whether no other process holds the lock.

    Raises
    ------
    OSError
        If there are no locks here.
    """
    if fcntl is None:
        raise OSError("this system has no locks of files")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
