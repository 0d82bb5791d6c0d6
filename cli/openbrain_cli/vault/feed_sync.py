"""A local copy of the feed, for clients that read files. Files that are no longer in the feed are removed."""

import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from openbrain.contract.vault.pages import VaultFile, VaultPage
from openbrain.domain.errors import Conflict, NotFound
from openbrain.vault.files.folder import Folder
from openbrain.vault.markers import atomic_writes

FEED = "brain-feed"
MARK = ".openbrain-feed"
"""File that marks the folder as a copy, and lists its files: path -> modification time in the feed, and hash."""


@dataclass(frozen=True, slots=True)
class Synced:
    """Names of the files that were changed, or would be."""

    written: tuple[str, ...]
    removed: tuple[str, ...]
    unchanged: int


class FeedSource(Protocol):
    """The source of the feed: an API's client, or a folder."""

    def vault_files(self, path: str = "") -> AsyncIterator[VaultFile]: ...

    async def vault_page(self, path: str) -> VaultPage: ...


async def sync(brain: FeedSource, root: Path, *, dry_run: bool = False, adopt: bool = False) -> Synced:
    """Make the folder equal to the feed. Raise `Conflict` if it has files and is not a copy, unless `adopt`."""
    if not dry_run:
        root.mkdir(parents=True, exist_ok=True)
    folder = Folder(root)
    here = _here(folder) if root.is_dir() else {}
    known = _known(folder) if root.is_dir() else None
    if known is None and here and not adopt:
        raise Conflict(
            f"{root} contains {len(here)} files that this command did not write: name an empty folder, or use --adopt "
            "to remove all files that are not in the feed"
        )
    there = [file async for file in brain.vault_files(FEED) if "/" not in _name(file.path)]
    kept: dict[str, dict[str, str]] = {}
    texts: dict[str, bytes] = {}
    for file in there:
        name, at = _name(file.path), f"{file.modified_at.isoformat()} {file.size}"
        had = (known or {}).get(name, {})
        if had.get("at") == at and had.get("sha256") == here.get(name):
            kept[name] = dict(had)
            continue
        try:
            page = await brain.vault_page(file.path)
        except NotFound:  # removed since it was listed
            continue
        kept[name] = {"at": at, "sha256": page.sha256}
        if here.get(name) != page.sha256:
            texts[name] = page.content.encode()
    removed = tuple(sorted(here.keys() - kept.keys()))
    if not dry_run:
        for name in removed:
            atomic_writes.remove(folder, name)
        for name, text in texts.items():
            atomic_writes.write(folder, name, text)
        if kept != known:
            atomic_writes.write(folder, MARK, json.dumps(kept, sort_keys=True).encode())
    return Synced(tuple(sorted(texts)), removed, len(kept) - len(texts))


def _name(path: str) -> str:
    return path.removeprefix(f"{FEED}/")


def _here(folder: Folder) -> dict[str, str]:
    """Hashes of the files that a client would read, by path."""
    return {entry.path: folder.digest(entry.path) or "" for entry in folder.walk() if "/" not in entry.path}


def _known(folder: Folder) -> Mapping[str, Mapping[str, str]] | None:
    try:
        known: Any = json.loads(folder.read(MARK))
    except NotFound:
        return None
    except ValueError:
        return {}
    return known if isinstance(known, dict) else {}
