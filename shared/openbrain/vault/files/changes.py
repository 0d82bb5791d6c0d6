"""Planned changes of a vault's files."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from openbrain.domain.errors import Invalid
from openbrain.vault import limits
from openbrain.vault.files.folder import checked


@dataclass(frozen=True)
class Change:
    """Change of one file. `before`: SHA-256 (hex) of its current content; `after`: its new content. None: no file.

    A move is two changes: one file removed, another created. `time_of` names the file whose mtime the new content
    keeps because it says nothing new: this file, or the one that it was moved from.
    """

    path: str
    before: str | None
    after: bytes | None
    time_of: str | None = None

    @cached_property
    def digest(self) -> str | None:
        """SHA-256 of `after` in hex; None if the file is removed."""
        return None if self.after is None else sha256(self.after)


def sha256(data: bytes) -> str:
    """SHA-256 in hex, as in `Change.before`."""
    return hashlib.sha256(data).hexdigest()


def effective(changes: Iterable[Change]) -> list[Change]:
    """Changes that have an effect, sorted by path. Invalid for a path that can't be written or appears twice."""
    last: dict[str, Change] = {}
    for change in changes:
        if change.path.startswith(".") or "/." in checked(change.path):
            raise Invalid(change.path, "names that begin with a dot are no part of a vault")
        if change.path in last:
            raise Invalid(change.path, "a plan may change a file only once")
        last[change.path] = change
    if len(last) > limits.CHANGES:
        raise Invalid("changes", f"at most {limits.CHANGES} in one plan")
    return [last[path] for path in sorted(last) if last[path].before != last[path].digest]
