"""Planned changes as an overlay: a vault as it would be after them."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from openbrain.domain.errors import NotFound
from openbrain.vault.files.changes import Change, sha256


class Draft:
    """`read` returns a file's text. It raises NotFound if there is no file and Invalid if it can't be read.
    `digests`: known SHA-256 of such texts, in hex."""

    def __init__(self, read: Callable[[str], str], digests: Mapping[str, str] = MappingProxyType({})) -> None:
        self._read = read
        self._digests = digests
        self._known: dict[str, str | None] = {}
        """Texts of files that are not changed."""
        self._before: dict[str, str | None] = {}
        """SHA-256 of a changed file's old text; the text itself is dropped to save memory in large plans."""
        self._after: dict[str, bytes | None] = {}
        self._time_of: dict[str, str] = {}

    def text(self, path: str) -> str | None:
        """The file's planned text; None if there would be no file. Invalid if it can't be read."""
        if path in self._after:
            after = self._after[path]
            return None if after is None else after.decode()
        if path not in self._known:
            try:
                self._known[path] = self._read(path)
            except NotFound:
                self._known[path] = None
        return self._known[path]

    def write(self, path: str, text: str, *, time_of: str = "") -> None:
        """Plan this text for the file. `time_of`: the file whose mtime it keeps, if the text says nothing new."""
        # If this plan has already changed that file, keep a time only if the earlier change kept one.
        kept = self._time_of.get(time_of) if time_of in self._after else time_of
        self._change(path, text.encode())
        if kept:
            self._time_of[path] = kept

    def remove(self, path: str) -> None:
        """Plan the removal of the file."""
        self._change(path, None)

    def changes(self) -> tuple[Change, ...]:
        """Planned changes, sorted by path; files whose content stays the same are left out."""
        made = (
            Change(path, self._before[path], after, self._time_of.get(path))
            for path, after in sorted(self._after.items())
        )
        return tuple(change for change in made if change.before != change.digest)

    def _change(self, path: str, after: bytes | None) -> None:
        if path not in self._after:
            was = self.text(path)
            self._before[path] = None if was is None else self._digests.get(path) or sha256(was.encode())
            self._known.pop(path)
        self._after[path] = after
        self._time_of.pop(path, None)
