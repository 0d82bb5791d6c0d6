"""The folder of transcripts: `<folder>/<project>/<session>.jsonl`, exactly one level deep. Only read."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from openbrain.domain.errors import NotFound
from openbrain.vault.markers.transcripts import Record, lines, records
from openbrain_tick.plan.extract import Bundle, Filter, Session, Window, bundle, session


@dataclass(frozen=True, slots=True)
class Transcript:
    """One file of it."""

    path: Path
    project_folder: str
    mtime: float
    """Seconds since 1970."""

    @property
    def session_id(self) -> str:
        """The file's name without its ending."""
        return self.path.stem


def transcripts(folder: Path) -> Iterator[Transcript]:
    """Every transcript, by name. Links are not followed. `NotFound` without the folder."""
    if not folder.is_dir():
        raise NotFound(f"there is no folder of transcripts at {folder}: name another")
    for project in sorted(item for item in folder.iterdir() if item.is_dir() and not item.is_symlink()):
        for path in sorted(project.glob("*.jsonl")):
            if path.is_file() and not path.is_symlink():
                yield Transcript(path, project.name, path.stat().st_mtime)


def extracted(folder: Path, within: Window, wanted: Filter, unreadable: Callable[[Path], None]) -> Bundle:
    """The bundle of a window. A file that was last written before it is not opened; one that can't be read is told to
    `unreadable` and left out."""
    project, begins = (wanted.project or "").casefold(), within.since.timestamp()
    scanned = 0
    sessions: list[Session | None] = []
    for transcript in transcripts(folder):
        if transcript.mtime < begins or project not in transcript.project_folder.casefold():
            continue
        scanned += 1
        try:
            sessions.append(session(transcript.session_id, records(lines(transcript.path))))
        except OSError:
            unreadable(transcript.path)
    return bundle(sessions, within, wanted, scanned)


def transcripts_by_session(folder: Path) -> Callable[[str], Iterable[Record] | None]:
    """The records of a session by its id; None where its file is gone, and nothing of one that can't be read."""
    paths = {transcript.session_id: transcript.path for transcript in transcripts(folder)}

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
