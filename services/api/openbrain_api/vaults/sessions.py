"""Find the project of a session: by its transcript, else by the arc that lists the session. Blocking."""

import re
from collections.abc import Iterator
from heapq import nlargest
from itertools import islice
from operator import attrgetter
from pathlib import Path
from typing import Final

from openbrain.domain.errors import NeverRetry
from openbrain.vault.files.folder import Folder
from openbrain.vault.markers.transcripts import lines, project_of, records
from openbrain.vault.pages.arc_parsing import parse_arc

ARCS: Final = 200
"""Number of newest pages of clusters/ that are searched."""
RECORDS: Final = 200
"""Number of a transcript's first lines that are searched for its working directory."""
_NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,200}")


def project_of_session(session: str, projects_dir: Path | None, vault: Folder) -> str:
    """The project of a session; '' if unknown."""
    if not _NAME.fullmatch(session):
        return ""
    return _by_transcript(session, projects_dir) or _by_arc(session, vault)


def _by_transcript(session: str, projects_dir: Path | None) -> str:
    try:
        folders = [] if projects_dir is None else [path for path in projects_dir.iterdir() if not path.is_symlink()]
        for path in (folder / f"{session}.jsonl" for folder in folders):
            if path.is_file() and not path.is_symlink():
                cwd = next((record.cwd for record in islice(records(lines(path)), RECORDS) if record.cwd), "")
                return project_of(cwd) if cwd else ""
    except OSError:
        pass
    return ""


def _by_arc(session: str, vault: Folder) -> str:
    return next((project for project in _projects(session, vault) if project), "")


def _projects(session: str, vault: Folder) -> Iterator[str]:
    for entry in nlargest(ARCS, vault.walk("clusters"), key=attrgetter("mtime_ns")):
        try:
            text = vault.read(entry.path) if entry.path.endswith(".md") else ""
        except NeverRetry:
            continue
        if session in text:
            arc = parse_arc(entry.path, text, entry.mtime_ns)
            if session in arc.sessions:
                yield arc.project
