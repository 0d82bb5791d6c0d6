"""Cleans stored texts: replaces personal data everywhere in a memory, and unifies the spelling of names."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson

from openbrain.domain.memory import Memory
from openbrain.domain.text.spelling import normalised_text
from openbrain.ports.cleaning import Cleaned, HistoryText, MemoryTexts
from openbrain.ports.content import Admission, Detector
from openbrain.usecases.content.admission import admitted_fields, texts_of

TEXTS = ("content", "title", "aliases", "tags", "metadata", "source", "speaker")


@dataclass(frozen=True, slots=True)
class Stripping:
    """Replaces personal data according to `admission`; `detector` provides the findings."""

    detector: Detector
    admission: Admission

    def fields(self, fields: Mapping[str, Any], counts: Counter[str], place: str = "") -> dict[str, Any]:
        """Return the changed fields, and count the findings."""
        texts = texts_of(fields)
        for (name, _), own in zip(texts, self.detector.find(texts), strict=True):
            counts.update(f"{place or name.partition('.')[0]}: {item.kind}" for item in own)
        return admitted_fields(fields, self.admission)

    def holds(self, texts: Sequence[str]) -> bool:
        """True if one of the texts contains findings."""
        return any(self.detector.find([("text", text) for text in texts]))

    def text(self, text: str) -> str:
        """Clean a single text."""
        return str(self.fields({"text": text}, Counter()).get("text", text))


@dataclass(frozen=True, slots=True)
class Normalising:
    """Normalises texts; tags and projects get their most frequent spelling."""

    tags: Mapping[str, str] = field(default_factory=dict)
    projects: Mapping[str, str] = field(default_factory=dict)

    def memory(self, memory: Memory, counts: Counter[str]) -> Memory:
        """Return the normalised memory; an equal one if nothing changes."""
        project = self.projects.get(memory.project, memory.project)
        tags = tuple(dict.fromkeys(self.tags.get(tag, tag) for tag in memory.tags))
        # A turn of a conversation is stored verbatim.
        content = memory.content if memory.identity else normalised_text(memory.content) or memory.content
        title = normalised_text(memory.title)
        after = memory._replace(content=content, title=title, tags=tags, project=project)
        counts.update(
            f"{name}: spelling"
            for name in ("content", "title", "tags", "project")
            if getattr(after, name) != getattr(memory, name)
        )
        return after


@dataclass(frozen=True, slots=True)
class Cleaner:
    """`ports.cleaning.Clean`. History keeps its spelling because it records the past."""

    stripping: Sequence[Stripping] = ()
    normalising: Normalising | None = None

    def __call__(self, before: MemoryTexts) -> Cleaned | None:
        counts: Counter[str] = Counter()
        memory, history = before.memory, before.history
        for item in self.stripping:
            own = {name: getattr(memory, name) for name in TEXTS}
            memory = memory._replace(**item.fields(own, counts))
            history = [_line(item, line, counts) for line in history]
        if self.normalising is not None and not memory.ended:
            memory = self.normalising.memory(memory, counts)
        return Cleaned(MemoryTexts(memory, tuple(history)), counts) if counts else None


def _line(stripping: Stripping, line: HistoryText, counts: Counter[str]) -> HistoryText:
    parts: dict[str, Any] = {
        "before": line.before and orjson.loads(line.before),
        "after": line.after and orjson.loads(line.after),
        "note": line.note,
    }
    changed = stripping.fields(parts, counts, "history")
    texts = {name: part if name == "note" else orjson.dumps(part).decode() for name, part in changed.items()}
    before, after, note = (texts.get(name, getattr(line, name)) for name in ("before", "after", "note"))
    return HistoryText(line.id, before, after, note or "")


def summary(counts: Mapping[str, int]) -> str:
    """A summary such as `2 email in content, 1 phone in history`."""
    parts = [(place.partition(": "), number) for place, number in sorted(counts.items())]
    return ", ".join(f"{number} {kind} in {place}" for (place, _, kind), number in parts)


def total(cleaned: Sequence[Cleaned]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for item in cleaned:
        counts.update(item.found)
    return counts
