"""The only access to a vault's disk: nothing outside its root is read or written.

Paths are relative, with `/`. Every path component is opened without following links; a link that leads out of the
root is refused. Blocking: call it in a thread.
"""

import errno
import hashlib
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from copy import copy
from datetime import UTC, datetime
from functools import lru_cache
from operator import attrgetter
from pathlib import Path
from typing import Generic, NamedTuple, TypeVar

from openbrain.domain.errors import Invalid, NotFound, TryLater
from openbrain.domain.limits import PATH_CHARS
from openbrain.domain.times import from_datetime
from openbrain.vault import limits
from openbrain.vault.values import Problem

_AT_ONCE = 1 << 20
_ANY_SIZE = 1 << 40
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# O_NONBLOCK: opening a named pipe would otherwise wait for its writer.
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


# A file modified this shortly before it was read may change again without a new mtime. File systems with times in
# whole milliseconds or seconds need the longer limit.
_FINE_NS = 20_000_000
_COARSE_NS = 2_000_000_000
_FIRST_NS = from_datetime(datetime(1, 1, 1, tzinfo=UTC)) * 1000
_LAST_NS = from_datetime(datetime(9999, 12, 31, tzinfo=UTC)) * 1000


T = TypeVar("T")


class Entry(NamedTuple):
    """A regular file's path and `stat` data."""

    path: str
    mtime_ns: int
    size: int

    @classmethod
    def of(cls, path: str, status: os.stat_result) -> "Entry":
        """The mtime is limited to the years 1 to 9999: some file systems store any."""
        return cls(path, min(max(status.st_mtime_ns, _FIRST_NS), _LAST_NS), status.st_size)


class Seen(NamedTuple):
    """A file's state from `stat`: a different one later means that somebody changed the file. Unlike the mtime,
    `ctime_ns` can't be set by an editor."""

    inode: int
    ctime_ns: int
    mtime_ns: int
    size: int
    mode: int

    @classmethod
    def of(cls, status: os.stat_result) -> "Seen":
        return cls(status.st_ino, status.st_ctime_ns, status.st_mtime_ns, status.st_size, stat.S_IMODE(status.st_mode))


def is_settled(mtime_ns: int, now_ns: int) -> bool:
    """True if a file read at `now_ns` is sure to have the same content as long as its mtime and size are the same."""
    return now_ns - mtime_ns > (_FINE_NS if mtime_ns % 1_000_000 else _COARSE_NS)


def checked(relative: str) -> str:
    """Return the path if it is valid. Invalid if it is absolute, leaves the vault or has characters not allowed."""
    if not relative or len(relative) > PATH_CHARS:
        raise Invalid("path", f"1 to {PATH_CHARS} characters, relative to the vault")
    parts = f"/{relative}/"
    odd = "//" in parts or "/./" in parts or "/../" in parts
    if odd or "\\" in relative or not relative.isprintable():
        raise Invalid("path", "relative to the vault, names separated by /, without . and ..")
    return relative


# Writing a plan asks for each of its paths about eight times.
@lru_cache(maxsize=8192)
def _parted(relative: str) -> tuple[str, str]:
    """Folder and last name of a path."""
    way, _, name = checked(relative).rpartition("/")
    return way, name


class Folder:
    """A vault's files below `root`, which must exist. NotFound if a file does not exist, TryLater if the disk fails."""

    def __init__(self, root: Path, *, max_bytes: int = limits.FILE_BYTES) -> None:
        self.root = Path(os.path.realpath(root))
        self.max_bytes = max_bytes
        self._held: dict[str, int] | None = None
        """Descriptors of opened folders, by path."""

    @contextmanager
    def held(self) -> "Iterator[Folder]":
        """Return a copy that keeps folder descriptors open during one operation on many files, so that each folder is
        opened once. A folder moved or removed meanwhile is still the one that was opened. Threads of the operation may
        share the copy. After the operation it opens folders like the original."""
        held = copy(self)
        opened = held._held = {}
        try:
            yield held
        finally:
            held._held = None
            for descriptor in opened.values():
                os.close(descriptor)

    def read(self, relative: str, *, links: bool = True) -> str:
        """A file's text, line breaks unchanged. Invalid if it is too large or not UTF-8; with `links=False` also for a
        link, as for a writer."""
        data = self.read_and_stat(relative, links=links)[0]
        try:
            return data.decode()
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, error.start) + 1
            raise Invalid(relative, f"not UTF-8 in line {line}: save it as UTF-8") from None

    def read_bytes(self, relative: str) -> bytes:
        """A file's bytes. Invalid if it has more than `max_bytes` or is not a regular file."""
        return self.read_and_stat(relative)[0]

    def read_and_stat(self, relative: str, *, links: bool = True) -> tuple[bytes, os.stat_result]:
        """Read a file; its bytes and its `stat` from before the read."""
        with self._opened(relative, links=links) as (descriptor, status):
            data = b"" if status.st_size > self.max_bytes else _read(descriptor, status.st_size, self.max_bytes)
        if max(status.st_size, len(data)) > self.max_bytes:
            raise Invalid(relative, f"holds more than {self.max_bytes} bytes: split it")
        return data, status

    def stat(self, relative: str) -> Entry:
        """Entry of a regular file. NotFound if there is none."""
        with self._opened(relative) as (_, status):
            return Entry.of(relative, status)

    def digest(self, relative: str) -> str | None:
        """SHA-256 of a file's bytes, in hex; None if there is no file. Invalid for a link: links are never written."""
        read = self.digest_and_stat(relative)
        return None if read is None else read[0]

    def digest_and_stat(self, relative: str) -> tuple[str, os.stat_result] | None:
        """Hash a file; its SHA-256 in hex and its `stat` from before the read. None if there is no file."""
        try:
            with self._opened(relative, links=False) as (descriptor, status):
                if status.st_size <= _AT_ONCE:
                    return hashlib.sha256(_read(descriptor, status.st_size, _ANY_SIZE)).hexdigest(), status
                with os.fdopen(os.dup(descriptor), "rb") as file:
                    return hashlib.file_digest(file, "sha256").hexdigest(), status
        except NotFound:
            return None

    def is_folder(self, relative: str) -> bool:
        """True if a folder has this path and no part of it is a link."""
        with suppress(NotFound, Invalid), self.parent(f"{relative}/_"):
            return True
        return False

    def walk(self, relative: str = "", problems: list[Problem] | None = None) -> Iterator[Entry]:
        """Regular files below a folder, sorted by name; none if there is no such folder.

        Names that begin with a dot are not part of a vault. Links, pipes and names that are not text are skipped and
        added to `problems` if it is given. TryLater if the vault's root can't be opened.
        """
        problems_seen: list[Problem] = [] if problems is None else problems
        # Without this check, a vault that is not mounted would look as if all its pages had been removed.
        os.close(self._open_root())
        if relative:
            base = self.root / checked(relative)
            if Path(os.path.realpath(base)) != base:
                problems_seen.append(Problem(relative, 0, "a link: not followed", hides=True))
                return
        yield from _walk(str(self.root), f"{relative}/" if relative else "", problems_seen, 0)

    def parent(self, relative: str, *, create: bool = False) -> "_Opened[str]":
        """The folder of a path, opened component by component, and the path's last name. For writers in this
        package."""
        way, name = _parted(relative)
        held = self._held
        if held is None:
            return _Opened(self._walked(way, relative, create=create), name)
        if way not in held:
            descriptor = self._walked(way, relative, create=create)
            if held.setdefault(way, descriptor) != descriptor:
                os.close(descriptor)  # another thread was faster
        return _Opened(held[way], name, closes=False)

    def _walked(self, way: str, relative: str, *, create: bool) -> int:
        """The descriptor of a folder. Each component is opened relative to its parent, so that no link is followed."""
        descriptor = self._open_root()
        try:
            for part in way.split("/") if way else ():
                inner = _step(descriptor, part, relative, create=create)
                os.close(descriptor)
                descriptor = inner
        except BaseException:
            os.close(descriptor)
            raise
        return descriptor

    def _open_root(self) -> int:
        try:
            return os.open(self.root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            raise TryLater(f"the vault's folder can't be opened ({error.strerror}): is it mounted?") from None

    def _opened(self, relative: str, *, links: bool = True) -> "_Opened[os.stat_result]":
        """Open a regular file; its descriptor and `stat`. `links`: follow a link that stays inside the root. Otherwise,
        as for a writer, a file in place of a folder is Invalid too."""
        try:
            descriptor = self._open(relative)
        except _Link:
            if not links:
                raise
            descriptor = self._open(self._resolved(relative))
        except _NoFolder:
            if not links:
                raise
            raise NotFound(f"{relative}: no such file in the vault") from None
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            os.close(descriptor)
            raise Invalid(relative, "not a regular file")
        return _Opened(descriptor, status)

    def _open(self, relative: str) -> int:
        with self.parent(relative) as (folder, name):
            try:
                return os.open(name, _FILE, dir_fd=folder)
            except OSError as error:
                raise _problem_of(error, folder, name, relative) from None

    def _resolved(self, relative: str) -> str:
        """The path of a link's target inside the root, for opening it without following another link."""
        target = os.path.realpath(self.root / relative)
        inside = os.path.relpath(target, self.root)
        if inside == ".." or inside.startswith("../"):
            raise Invalid(relative, "a link that leads out of the vault")
        if not Path(target).exists():
            raise NotFound(f"{relative}: no such file in the vault")
        return checked(inside)


class _Opened(Generic[T]):
    """Context manager for a descriptor and a value; a third of the cost of `@contextmanager`."""

    __slots__ = ("_closes", "_descriptor", "_value")

    def __init__(self, descriptor: int, value: T, *, closes: bool = True) -> None:
        self._descriptor, self._value, self._closes = descriptor, value, closes

    def __enter__(self) -> tuple[int, T]:
        return self._descriptor, self._value

    def __exit__(self, *_: object) -> None:
        if self._closes:
            os.close(self._descriptor)


def _read(descriptor: int, size: int, most: int) -> bytes:
    """Read a file of `size` bytes, and what was appended since. Stop once more than `most` bytes are read."""
    data = os.read(descriptor, size + 1)
    while 0 < len(data) <= most and (more := os.read(descriptor, max(size, 65_536))):
        data += more
    return data


class _Link(Invalid):
    """A component of the path is a link, which is not followed here."""


class _NoFolder(Invalid):
    """A component of the path is a file, so nothing can be written below it."""


def _step(descriptor: int, part: str, relative: str, *, create: bool) -> int:
    """Open the folder `part` inside an opened one; with `create`, make it if it is missing."""
    try:
        made = create and _made(descriptor, part)
        opened = os.open(part, _DIRECTORY, dir_fd=descriptor)
        if made:
            os.fchmod(opened, inherited(descriptor))
        return opened  # noqa: TRY300 - errors of all these steps are mapped alike
    except OSError as error:
        raise _problem_of(error, descriptor, part, relative) from None


def _made(descriptor: int, part: str) -> bool:
    try:
        os.mkdir(part, 0o700, dir_fd=descriptor)
    except FileExistsError:
        return False
    return True


def inherited(descriptor: int) -> int:
    """The mode for files and folders created in an opened folder: the folder's own. The vault's owner decides who may
    read it, not the process that writes a page."""
    return stat.S_IMODE(os.fstat(descriptor).st_mode)


def _problem_of(error: OSError, folder: int, name: str, relative: str) -> Exception:
    if error.errno in {errno.ELOOP, errno.ENOTDIR} and _is_link(folder, name):
        return _Link(relative, "a link: not followed")
    if isinstance(error, NotADirectoryError):
        return _NoFolder(relative, f"{name!r} is a file where a folder belongs: rename it")
    if isinstance(error, FileNotFoundError):
        return NotFound(f"{relative}: no such file in the vault")
    if isinstance(error, PermissionError):
        return Invalid(relative, "this process has no permission to open it: grant it")
    if error.errno in {errno.ENXIO, errno.ENAMETOOLONG, errno.EISDIR}:
        return Invalid(relative, "not a regular file, or a name too long")
    return TryLater(f"{relative}: the vault's disk answers {error.strerror}")


def _is_link(folder: int, name: str) -> bool:
    try:
        return stat.S_ISLNK(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
    except OSError:
        return False


def _walk(root: str, below: str, problems: list[Problem], depth: int) -> Iterator[Entry]:
    if depth > limits.FOLDER_DEPTH:
        problems.append(Problem(below, 0, f"folders deeper than {limits.FOLDER_DEPTH}: not read", hides=True))
        return
    try:
        entries = sorted(os.scandir(f"{root}/{below}"), key=attrgetter("name"))
    except FileNotFoundError:
        return
    except OSError as error:
        problems.append(Problem(below, 0, f"can't be listed: {error.strerror}", hides=True))
        return
    for entry in entries:
        name = entry.name
        path = below + name
        if name[0] == ".":
            continue
        if not path.isprintable():
            reason = "a name that holds control characters or is not UTF-8: not read"
            hides = name.endswith(".md") or entry.is_dir(follow_symlinks=False)
            problems.append(Problem(below, 0, reason, hides=hides))
        elif entry.is_file(follow_symlinks=False):
            try:
                known = entry.stat(follow_symlinks=False)
            except FileNotFoundError:  # removed since it was listed
                continue
            except OSError as error:  # as in a folder that may be listed, but not entered
                problems.append(Problem(path, 0, f"can't be read: {error.strerror}"))
                continue
            yield Entry.of(path, known)
        elif entry.is_dir(follow_symlinks=False):
            yield from _walk(root, path + "/", problems, depth + 1)
        else:
            reason = "a link, or no regular file: not read"
            hides = os.path.isdir(entry.path)  # noqa: PTH112 - False for any error
            problems.append(Problem(path, 0, reason, hides=hides))
