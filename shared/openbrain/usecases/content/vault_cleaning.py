"""Cleans the pages of a vault like memories, as the vault's only writer. Blocking parts run in a thread."""

import asyncio
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from openbrain.domain.errors import Conflict, Invalid, NotFound, TryLater
from openbrain.domain.tasks import chunks
from openbrain.ports.store.operations import Leases
from openbrain.usecases.vault_lock import vault_writer
from openbrain.vault.files.changes import Change, sha256
from openbrain.vault.files.folder import Folder
from openbrain.vault.pages import journal

GROUP = 200
"""Pages written under one lease."""
TRIES = 5
_HEAD = re.compile(r"\A---\r?\n.*?^---[ \t]*$", re.DOTALL | re.MULTILINE)
_IN_PLACE = re.compile(r"\[(redacted|[a-z0-9-]+): ([a-z0-9-]+)\]")
CleanText = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class VaultPages:
    """The vault of a workspace. `forget`: drops cached copies of its pages."""

    workspace_id: str
    folder: Folder
    leases: Leases
    forget: Callable[[], None] = lambda: None

    async def clean(self, clean: CleanText, *, dry_run: bool) -> int:
        """Clean the pages. Return how many changed, or would change."""
        changes = await asyncio.to_thread(self._changes, clean)
        if dry_run:
            return len(changes)
        done = 0
        for _ in range(TRIES):
            for some in chunks(changes, GROUP):
                done += await self._written(some)
            changes = await asyncio.to_thread(self._changes, clean)
            if not changes:
                await asyncio.to_thread(self.forget)
                return done
        raise TryLater("pages of the vault change faster than they can be cleaned: this is retried")

    async def _written(self, changes: Sequence[Change]) -> int:
        """Return how many pages were written; 0 if somebody changed a page meanwhile and it must be read again."""
        async with vault_writer(self.leases, self.workspace_id, self.folder):
            await asyncio.to_thread(journal.recover, self.folder)
            try:
                applied = await asyncio.to_thread(partial(journal.apply, self.folder, changes))
            except Conflict:
                return 0
        return applied.written

    def _changes(self, clean: CleanText) -> list[Change]:
        changes: list[Change] = []
        for entry in self.folder.walk():
            try:
                raw = self.folder.read_bytes(entry.path)
                text = raw.decode()
            except (NotFound, Invalid, UnicodeDecodeError):
                continue
            if (new := cleaned_page(text, clean)) != text:
                changes.append(Change(entry.path, sha256(raw), new.encode(), time_of=entry.path))
        return changes


def cleaned_page(text: str, clean: CleanText) -> str:
    """Clean a page and keep its front matter valid YAML, where a mask in brackets would begin a list."""
    head = _HEAD.match(text)
    if head is None:
        return clean(text)
    before, after = head[0], text[head.end() :]
    masked = clean(before)
    if masked != before:
        masked = _IN_PLACE.sub(lambda mask: mask[0] if mask[0] in before else f"({mask[1]} {mask[2]})", masked)
    return masked + clean(after)
