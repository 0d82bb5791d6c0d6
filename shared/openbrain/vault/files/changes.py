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
    """One file: what is there (`before`, SHA-256 in hex; None: no file) and what shall be (`after`; None: no file).

    A move is two: the one removed and the other created. `time_of` names the file, this or the one it was moved from,
    whose time it keeps because it says nothing new.
    """

    path: str
    before: str | None
    after: bytes | None
    time_of: str | None = None

    @cached_property
    def digest(self) -> str | None:
        """SHA-256 of `after` in hex; None where the file is removed."""
        return None if self.after is None else sha256(self.after)


def sha256(data: bytes) -> str:
    """In hex, as `Change.before` has it."""
    return hashlib.sha256(data).hexdigest()


def effective(changes: Iterable[Change]) -> list[Change]:
    """Changes that change something, by path. Invalid for a path that can't be written or is named twice."""
    last: dict[str, Change] = {}
    for change in changes:
        if change.path.startswith(".") or "/." in checked(change.path):
            raise Invalid(change.path, "names that begin with a dot are no part of a vault")
        if change.path in last:
            raise Invalid(change.path, "one plan changes a file once")
        last[change.path] = change
    if len(last) > limits.CHANGES:
        raise Invalid("changes", f"at most {limits.CHANGES} in one plan")
    return [last[path] for path in sorted(last) if last[path].before != last[path].digest]
