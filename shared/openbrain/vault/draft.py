"""Changes that are only thought of: a vault as it would be, over the one that is."""

import hashlib
from collections.abc import Callable

from openbrain.errors import NotFound
from openbrain.vault.changes import Change


class Draft:
    """`read` gives a file's text, and raises NotFound where there is none and Invalid where it can't be read."""

    def __init__(self, read: Callable[[str], str]) -> None:
        self._read = read
        self._before: dict[str, str | None] = {}
        self._after: dict[str, str | None] = {}

    def text(self, path: str) -> str | None:
        """The file as it would be; None where there would be none. Invalid where it can't be read."""
        return self._after[path] if path in self._after else self._was(path)

    def write(self, path: str, text: str) -> None:
        """The file with this text."""
        self._was(path)
        self._after[path] = text

    def remove(self, path: str) -> None:
        """No such file."""
        self._was(path)
        self._after[path] = None

    def changes(self) -> tuple[Change, ...]:
        """What has to be done to the vault, by path; nothing where a file would be as it is."""
        return tuple(
            Change(path, _sha256(before), None if after is None else after.encode())
            for path, after in sorted(self._after.items())
            if (before := self._before[path]) != after
        )

    def _was(self, path: str) -> str | None:
        if path not in self._before:
            try:
                self._before[path] = self._read(path)
            except NotFound:
                self._before[path] = None
        return self._before[path]


def _sha256(text: str | None) -> str | None:
    return None if text is None else hashlib.sha256(text.encode()).hexdigest()
