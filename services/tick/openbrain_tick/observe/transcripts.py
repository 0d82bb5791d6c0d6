"""The folder of transcripts: `<folder>/<project>/<session>.jsonl`, exactly one level deep. Only read."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from openbrain.domain.errors import NotFound
from openbrain.vault.markers.transcripts import Record, lines, records
from openbrain_tick.plan.extract import Bundle, Filter, Session, Window, bundle, session


def transcripts(folder: Path) -> Iterator[Path]:
    """Every transcript, by name. Links are not followed. `NotFound` without the folder."""
    if not folder.is_dir():
        raise NotFound(f"there is no folder of transcripts at {folder}: name another")
    for project in sorted(item for item in folder.iterdir() if item.is_dir() and not item.is_symlink()):
        yield from (path for path in sorted(project.glob("*.jsonl")) if path.is_file() and not path.is_symlink())


def extracted(folder: Path, within: Window, wanted: Filter, unreadable: Callable[[Path], None]) -> Bundle:
    """The bundle of a window. A file that was last written before it is not opened; one that can't be read is told to
    `unreadable` and left out."""
    project, begins = (wanted.project or "").casefold(), within.since.timestamp()
    scanned = 0
    sessions: list[Session | None] = []
    for path in transcripts(folder):
        if path.stat().st_mtime < begins or project not in path.parent.name.casefold():
            continue
        scanned += 1
        try:
            sessions.append(session(path.stem, records(lines(path))))
        except OSError:
            unreadable(path)
    return bundle(sessions, within, wanted, scanned)


def transcripts_by_session(folder: Path) -> Callable[[str], Iterable[Record] | None]:
    """The records of a session by its id; None where its file is gone, and nothing of one that can't be read."""
    paths = {path.stem: path for path in transcripts(folder)}

    def records_of(session_id: str) -> Iterable[Record] | None:
        path = paths.get(session_id)
        return None if path is None else _readable(path)

    return records_of


def sessions_by_id(folder: Path) -> Callable[[str], Session | None]:
    """A session counted anew by its id; None where its file is gone, or says nothing."""
    records_of = transcripts_by_session(folder)

    def counted(session_id: str) -> Session | None:
        found = records_of(session_id)
        return None if found is None else session(session_id, found)

    return counted


def _readable(path: Path) -> Iterator[Record]:
    with suppress(OSError):
        yield from records(lines(path))
