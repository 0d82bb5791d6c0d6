"""The three kinds of note folders: how to recognise each, and what is special about it."""

import json
import os
import re
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from openbrain_cli.importers.file_reading import NOT_OURS, listing
from openbrain_cli.importers.found_memory import Scan, filled, line
from openbrain_cli.importers.markdown.sections import Section
from openbrain_cli.importers.markdown.wikilinks import MAX_LINKS
from openbrain_cli.importers.sources.notes import ENDINGS, NoteFolder, scan

_LOOKED_AT = 40
_PERMALINK = re.compile(r"^permalink:[ \t]*[^\s/]", re.MULTILINE)
_TITLE = re.compile(r"^title:[ \t]*\S", re.MULTILINE)
# Gaps are possessive: otherwise a long one takes time with the square of its length, or worse.
_GAP = r"[^\S\n]"
_RELATION = re.compile(
    rf"^{_GAP}*+[-*]{_GAP}++(?P<type>[^\[\]\n]{{0,100}}?){_GAP}*+\[\[(?P<to>[^\]|#\n]{{1,200}})", re.MULTILINE
)
_OBSERVATION = re.compile(rf"^{_GAP}*+[-*]{_GAP}++\[(?P<category>[^\[\]\n]{{2,60}})\]{_GAP}++\S", re.MULTILINE)


def is_vault(folder: Path) -> bool:
    """True if the folder has Obsidian's settings."""
    return (folder / ".obsidian").is_dir()


def is_basic_memory(folder: Path) -> bool:
    """True if one of the first notes has a title and a permalink that is not a web address."""
    return any(map(is_basic_page, islice(_pages(folder), _LOOKED_AT)))


def is_basic_page(path: Path) -> bool:
    start = _beginning(path)
    return _PERMALINK.search(start) is not None and _TITLE.search(start) is not None


def _pages(folder: Path) -> Iterator[Path]:
    for where, below, names in os.walk(folder):
        below[:] = sorted(name for name in below if not name.startswith(".") and name not in NOT_OURS)
        yield from (path for name in names if name.endswith(".md") and (path := Path(where, name)).is_file())


def has_pages(folder: Path) -> bool:
    return bool(listing(folder, ENDINGS).pages)


def vault_of(path: Path) -> Path | None:
    """The vault that contains a file or folder."""
    return next((parent for parent in path.parents if is_vault(parent)), None)


def markdown(folder: Path, home: Path, only: Path | None = None) -> Iterator[Scan]:
    yield from scan(NoteFolder(path=folder, client="markdown", home=home, only=only))


def obsidian(folder: Path, home: Path, only: Path | None = None) -> Iterator[Scan]:
    yield from scan(NoteFolder(path=folder, client="obsidian", home=home, only=only))


def basic_memory(folder: Path, home: Path, only: Path | None = None) -> Iterator[Scan]:
    """Read a basic-memory project; relations and categories of observations also go to the metadata."""
    yield from scan(NoteFolder(path=folder, client="basic-memory", home=home, only=only, more=_graph))


def _graph(section: Section) -> Mapping[str, Any]:
    relations = [
        {"type": line(match["type"]) or "relates_to", "to": line(match["to"])}
        for match in _RELATION.finditer(section.body)
    ]
    categories = list(dict.fromkeys(line(match["category"]) for match in _OBSERVATION.finditer(section.body)))
    return filled(relations=relations[:MAX_LINKS], categories=categories[:MAX_LINKS])


def vaults(home: Path) -> Iterator[Path]:
    """The vaults listed in Obsidian's settings."""
    for settings in (".config/obsidian", "Library/Application Support/obsidian"):
        known = _json(home / settings / "obsidian.json").get("vaults")
        for item in known.values() if isinstance(known, dict) else ():
            if isinstance(item, dict) and isinstance(item.get("path"), str):
                yield Path(item["path"])


def basic_memory_projects(home: Path) -> Iterator[Path]:
    """The projects in basic-memory's settings, and its default folder."""
    known = _json(home / ".basic-memory" / "config.json").get("projects")
    named = list(known.values()) if isinstance(known, dict) else []
    paths = [item.get("path") if isinstance(item, dict) else item for item in named]
    yield from dict.fromkeys([*(Path(path) for path in paths if isinstance(path, str)), home / "basic-memory"])


def _json(path: Path) -> dict[str, Any]:
    try:
        parsed = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return parsed if isinstance(parsed, dict) else {}


def _beginning(path: Path) -> str:
    try:
        with path.open(encoding="utf-8-sig", errors="replace") as file:
            start = file.read(4096)
    except OSError:
        return ""
    return start.partition("\n---")[0] if start.startswith("---") else ""
