"""Write results whole, or not at all.

Results are written into a hidden folder beside their destination and moved there when
all of them are complete. Whatever goes wrong before that, an error or Ctrl-C, leaves
the destination as it was. The hidden folder is made first of all: a destination that
cannot be written is known before any work.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from okl.cli.errors import UserError, refusing


@contextmanager
def staged_folder(destination: Path) -> Iterator[Path]:
    """Yield an empty folder; its files end up in the destination, if all goes well.

    A new folder appears at once, complete. In one that exists, files of the same
    names are replaced one by one, and the others stay.
    """
    destination = destination.absolute()
    with _workspace(destination, destination) as files:
        yield files
        with refusing(f"cannot write {destination}", OSError):
            if destination.exists():
                for file in sorted(files.iterdir()):
                    os.replace(file, destination / file.name)
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
    with refusing(f"cannot write {destination}", OSError):
        home = next(place for place in [folder, *folder.parents] if place.exists())
        if not home.is_dir():
            raise UserError(
                f"cannot write {destination}: {home} is a file. Give another name, or "
                "move the file away."
            )
        workspace = TemporaryDirectory(prefix=".okl-", dir=home)
    with workspace:
        # Temporary folders are private; one inside has the usual permissions.
        files = Path(workspace.name) / "files"
        files.mkdir()
        yield files
