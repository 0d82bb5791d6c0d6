"""Changes that are only thought of: a vault as it would be, over the one that is."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from openbrain.domain.errors import NotFound
from openbrain.vault.files.changes import Change, sha256


class Draft:
    """`read` gives a file's text, and raises NotFound where there is none and Invalid where it can't be read.
    `digests`: SHA-256 of such texts in hex, as far as they are known."""

    def __init__(self, read: Callable[[str], str], digests: Mapping[str, str] = MappingProxyType({})) -> None:
        self._read = read
        self._digests = digests
        self._known: dict[str, str | None] = {}
        """Texts of files that are not changed."""
        self._before: dict[str, str | None] = {}
        """SHA-256 of what a changed file was: a large plan holds its pages once."""
        self._after: dict[str, bytes | None] = {}
        self._time_of: dict[str, str] = {}

    def text(self, path: str) -> str | None:
        """The file as it would be; None where there would be none. Invalid where it can't be read."""
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
        """The file with this text. `time_of`: the file that it was, where nothing new is said in it."""
        # What this plan has changed before keeps a time only where that said nothing new either.
        kept = self._time_of.get(time_of) if time_of in self._after else time_of
        self._change(path, text.encode())
        if kept:
            self._time_of[path] = kept

    def remove(self, path: str) -> None:
        """No such file."""
        self._change(path, None)

    def changes(self) -> tuple[Change, ...]:
        """Changes of the vault, by path; none where a file would be as it is."""
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
