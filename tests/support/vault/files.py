"""Vaults of a few files for tests. It imports little, because writers that are killed start from here too."""

import os
import signal
import sys
from collections.abc import Mapping
from pathlib import Path

from openbrain.vault.files.changes import Change, sha256
from openbrain.vault.files.folder import Folder
from openbrain.vault.files.lock import LOCK
from openbrain.vault.pages.journal import apply

Files = Mapping[str, bytes]

FILES: Files = {"a.md": b"one", "left/b.md": b"two\n", "left/c.md": b"three", "d.md": b"four"}
WANTED: Files = {"a.md": b"ONE", "left/b.md": b"two\n", "moved/c.md": b"three", "e.md": b""}


def lay(root: Path, files: Files) -> Folder:
    """Write these files below a folder."""
    for path, data in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(data)
    return Folder(root)


def tree(root: Path) -> dict[str, bytes]:
    """Return every file, hidden ones included, except for the writers' lock."""
    files = {str(path.relative_to(root)): path for path in root.rglob("*") if path.is_file()}
    return {name: path.read_bytes() for name, path in files.items() if name != LOCK}


def plan(here: Files, wanted: Files) -> list[Change]:
    """Return the changes that turn `here` into `wanted`."""
    paths = sorted({*here, *wanted})
    return [Change(path, sha256(here[path]) if path in here else None, wanted.get(path)) for path in paths]


def be_killed(root: Path, step: str) -> None:
    """Apply the plan and be killed before this step. Run as a separate program."""

    def at_step(told: str) -> None:
        if told == step:
            os.kill(os.getpid(), signal.SIGKILL)

    apply(Folder(root), plan(tree(root), WANTED), at_step=at_step)


if __name__ == "__main__":
    be_killed(Path(sys.argv[1]), sys.argv[2])
