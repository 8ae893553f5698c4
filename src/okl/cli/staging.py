"""Write results whole, or not at all.

Results are written into a hidden folder next to their destination, and moved there when
all of them are complete. If anything goes wrong before, an error, a full disk or
Ctrl-C, the destination stays as it was. The hidden folder is created first, so that a
destination that cannot be written is refused before any work.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from okl.cli.errors import UserError, refusing
from okl.cli.workspace import workspace

# A full disk, a quota, a limit on the size of files (ulimit -f), a broken disk, and one
# that became read-only. All other errors of files have nothing to do with the
# destination.
_NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS}


@contextmanager
def staged_folder(destination: Path, may_be: Iterable[str] = ()) -> Iterator[Path]:
    """Yield an empty folder; its files are moved to the destination if all goes well.

    A new destination is created complete, in one step. In one that exists, files of the
    same names are replaced one by one, and others stay. But where files are replaced,
    those whose names ``may_be`` of results and are not among these are removed: they
    are of earlier results.
    """
    destination = destination.absolute()
    with _workspace(destination, destination) as files:
        yield files
        with refusing(f"cannot write {destination}", OSError):
            if destination.exists():
                found = sorted(files.iterdir())
                again = any((destination / file.name).exists() for file in found)
                for file in found:
                    os.replace(file, destination / file.name)
                for name in {*may_be} - {file.name for file in found}:
                    if again:
                        (destination / name).unlink(missing_ok=True)
            else:
                destination.parent.mkdir(parents=True, exist_ok=True)
                os.rename(files, destination)


@contextmanager
def staged_file(destination: Path) -> Iterator[Path]:
    """Yield the path to write to; the file is moved to the destination afterwards."""
    destination = destination.absolute()
    if destination.is_dir():
        raise UserError(f"{destination} is a folder; give the name of a file.")
    with _workspace(destination.parent, destination) as files:
        yield files / destination.name
        with refusing(f"cannot write {destination}", OSError):
            destination.parent.mkdir(parents=True, exist_ok=True)
            os.replace(files / destination.name, destination)


@contextmanager
def _workspace(folder: Path, destination: Path) -> Iterator[Path]:
    """Yield an empty folder on the same file system as a folder that may not exist."""
    with ExitStack() as stack:
        with refusing(f"cannot write {destination}", OSError):
            home = next(p for p in [folder, *folder.parents] if p.exists())
            if not home.is_dir():
                raise UserError(
                    f"cannot write {destination}: {home} is a file. Give another name, "
                    "or move the file away."
                )
            files = stack.enter_context(workspace(home))
        try:
            yield files
        except OSError as error:
            if error.errno not in _NO_ROOM:
                raise
            raise UserError(
                f"cannot write {destination}: {os.strerror(error.errno)}. Nothing was "
                "written; make room, or give another --out."
            ) from error
