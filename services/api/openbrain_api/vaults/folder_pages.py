"""List, read and search files of a vault. Blocking."""

from collections.abc import Iterator
from itertools import islice
from typing import Final

from openbrain.contract.vault.pages import VaultFile, VaultHit, VaultPage
from openbrain.domain.errors import Invalid, NeverRetry, NotFound
from openbrain.domain.times import to_datetime
from openbrain.vault.files.changes import sha256
from openbrain.vault.files.folder import Entry, Folder

MOST_FILES: Final = 50_000
MOST_BYTES: Final = 256 * 1024 * 1024
LINE_CHARS: Final = 300


def visible(path: str) -> str:
    """Return the path if clients may read it. Raise `NotFound` for names that begin with a dot: they are the tick's."""
    if any(part.startswith(".") and part not in {".", ".."} for part in path.split("/")):
        raise NotFound(f"{path}: no such file in the vault")
    return path


def listed(folder: Folder, path: str, limit: int, after: str | None) -> list[VaultFile]:
    """Files below a folder, in order of their paths, beginning after `after`."""
    behind = tuple(after.split("/")) if after else ()
    files = (file for file in folder.walk(visible(path)) if tuple(file.path.split("/")) > behind)
    return [shown_file(file) for file in islice(files, limit)]


def page(folder: Folder, path: str) -> VaultPage:
    """One file with its text."""
    text = folder.read(visible(path))
    file = shown_file(folder.stat(path))
    return VaultPage(**dict(file), content=text, sha256=sha256(text.encode()))


def shown_file(file: Entry) -> VaultFile:
    """A file without its text."""
    return VaultFile(path=file.path, size=file.size, modified_at=to_datetime(file.mtime_ns // 1000))


def searched(folder: Folder, path: str, question: str, limit: int) -> tuple[list[VaultHit], bool]:
    """Pages that contain every word, each with its first line that contains one; and whether all were searched."""
    words = [word.casefold() for word in question.split()]
    if not words:
        raise Invalid("q", "give at least one word")
    hits: list[VaultHit] = []
    left = MOST_BYTES
    for number, file in enumerate(_pages(folder, path)):
        left -= file.size
        if len(hits) >= limit or number >= MOST_FILES or left < 0:
            return hits, False
        try:
            text = folder.read(file.path)
        except NeverRetry:
            continue
        folded = text.casefold()
        if all(word in folded for word in words):
            lines = enumerate(text.split("\n"), 1)
            line, line_text = next((at for at in lines if any(word in at[1].casefold() for word in words)), (1, ""))
            hits.append(VaultHit(path=file.path, line=line, text=line_text.strip()[:LINE_CHARS]))
    return hits, True


def _pages(folder: Folder, path: str) -> Iterator[Entry]:
    return (file for file in folder.walk(visible(path)) if file.path.endswith(".md"))
