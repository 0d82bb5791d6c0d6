"""Files that an agent keeps in one folder, each with its own meaning, as a table of rules per client."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from openbrain.domain.memory import MemoryType, Scope
from openbrain_cli.importers.file_reading import listing
from openbrain_cli.importers.found_memory import FoundMemory, Note, Scan, filled, line, tags
from openbrain_cli.importers.markdown.chunks import Chunker
from openbrain_cli.importers.markdown.frontmatter import Page
from openbrain_cli.importers.markdown.pages import scan_page
from openbrain_cli.importers.markdown.sections import Section, full_sections
from openbrain_cli.importers.markdown.wikilinks import wikilinks
from openbrain_cli.importers.memory_types import by_words

DAY = re.compile(r"(?P<day>\d{4}-\d{2}-\d{2})(?:[-_ ]+(?P<slug>.+))?")
"""Name of a daily file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileRule:
    """The rule for one file, or one kind of file."""

    name: str
    """Pattern for the path below the folder, without its ending."""
    type: MemoryType
    """The type if the heading suggests no other."""
    fixed: bool = False
    """True if the heading can't change the type."""
    tags: tuple[str, ...] = ()
    confidence: float = 0.7
    cut: Callable[[str], Iterable[Section]] = full_sections


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentFolder:
    """A folder of such files, and its rules."""

    path: Path
    client: str
    portable: str
    rules: Sequence[FileRule]
    agent: str = ""
    below: tuple[str, ...] = ()
    """The only subfolders that are searched."""
    only: Path | None = None
    """The only file to read, if the user named one."""


def scan(folder: AgentFolder) -> Iterator[Scan]:
    """Read each file that a rule matches, in order; ignore the others."""
    pages = sorted(path for path in folder.path.glob("*.md"))
    for below in folder.below:
        listed = listing(folder.path / below)
        pages += listed.pages
        yield Scan(notes=tuple(Note(str(path), reason) for path, reason in listed.skipped))
    for path in pages if folder.only is None else [folder.only]:
        name = path.relative_to(folder.path).with_suffix("").as_posix()
        rule = next((item for item in folder.rules if re.fullmatch(item.name, name)), None)
        if rule is not None:
            location = f"{folder.portable}{line(path.relative_to(folder.path).as_posix())}"
            yield scan_page(path, folder.path, folder.client, location, _by(rule, folder, path.stem))
            yield Scan(covered=((folder.client, location),))
    yield Scan(covered=((folder.client, folder.portable),) if folder.only is None else ())


def _by(rule: FileRule, folder: AgentFolder, stem: str) -> Callable[[Page, Chunker], Iterator[FoundMemory]]:
    def to_memories(parsed: Page, chunker: Chunker) -> Iterator[FoundMemory]:
        day, slug = day_of(stem)
        for section in rule.cut(parsed.body):
            links = wikilinks(section.body)
            yield from chunker.chunks(
                section.heading,
                section.text,
                type=rule.type if rule.fixed else by_words(section.heading, rule.type),
                scope=Scope.SHARED,
                tags=tags(*rule.tags, slug, folder.agent),
                confidence=rule.confidence,
                occurred_at=parsed.moment("date") or day or chunker.changed,
                details=filled(agent=line(folder.agent), links=list(links)),
            )

    return to_memories


def day_of(stem: str) -> tuple[datetime | None, str]:
    """The date at the beginning of a file's name, and the words after it."""
    to_memories = DAY.fullmatch(stem)
    if to_memories is None:
        return None, ""
    try:
        day = datetime.strptime(to_memories["day"], "%Y-%m-%d").replace(tzinfo=UTC)
    except ValueError:
        return None, ""
    return day, re.sub(r"[-_]+", " ", to_memories["slug"] or "")
