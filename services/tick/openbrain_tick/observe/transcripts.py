"""The folder of transcripts: `<folder>/<project>/<session>.jsonl`, exactly one level deep. Only read."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from openbrain.domain.errors import NotFound
from openbrain.vault.markers.transcripts import Record, lines, records
from openbrain_tick.plan.extract import Bundle, Filter, Session, Window, bundle, session


def transcripts(folder: Path) -> Iterator[Path]:
    """All transcripts, sorted by name. Links are not followed. `NotFound` if the folder does not exist or can't be
    read."""
    try:
        if not folder.is_dir():
            raise NotFound(f"there is no folder of transcripts at {folder}: name another")
        projects = sorted(item for item in folder.iterdir() if item.is_dir() and not item.is_symlink())
    except OSError as error:
        raise NotFound(f"the folder of transcripts {folder} can't be read: {error.strerror}") from None
    for project in projects:
        yield from (path for path in sorted(project.glob("*.jsonl")) if _is_file(path))


def _is_file(path: Path) -> bool:
    try:
        return path.is_file() and not path.is_symlink()
    except OSError:
        return True  # whoever opens it is told the reason


def extracted(folder: Path, within: Window, wanted: Filter, unreadable: Callable[[Path], None]) -> Bundle:
    """The bundle of a window. A file last written before the window is not opened. One that can't be read is passed to
    `unreadable` and skipped."""
    project, begins = (wanted.project or "").casefold(), within.since.timestamp()
    scanned = 0
    sessions: list[Session | None] = []
    for path in transcripts(folder):
        if project not in path.parent.name.casefold():
            continue
        try:
            if path.stat().st_mtime < begins:
                continue
            scanned += 1
            sessions.append(session(path.stem, records(lines(path))))
        except (OSError, ValueError):  # ValueError: a name that can't be a session's id, because it is not UTF-8
            unreadable(path)
    return bundle(sessions, within, wanted, scanned)


def transcripts_by_session(folder: Path) -> Callable[[str], Iterable[Record] | None]:
    """A function that returns a session's records by its id: None if the file is gone, nothing if it can't be read."""
    paths = {path.stem: path for path in transcripts(folder)}

    def records_of(session_id: str) -> Iterable[Record] | None:
        path = paths.get(session_id)
        return None if path is None else _readable(path)

    return records_of


def sessions_by_id(folder: Path) -> Callable[[str], Session | None]:
    """A function that counts a session again by its id; None if its file is gone or has no record with a time."""
    records_of = transcripts_by_session(folder)

    def counted(session_id: str) -> Session | None:
        found = records_of(session_id)
        return None if found is None else session(session_id, found)

    return counted


def _readable(path: Path) -> Iterator[Record]:
    with suppress(OSError):
        yield from records(lines(path))
