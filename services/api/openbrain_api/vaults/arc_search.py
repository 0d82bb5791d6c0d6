"""Find arcs by the words or the meaning of a question; read one by its id. Blocking."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import log
from typing import Final

from openbrain.contract.vault.arcs import ArcAnswer, ArcDetail, ArcsQuery
from openbrain.domain.errors import Invalid, NeverRetry, NotFound
from openbrain.domain.times import to_datetime
from openbrain.vault.files.folder import Entry, Folder
from openbrain.vault.pages.arc_parsing import parse_arc
from openbrain.vault.pages.arcs import Arc
from openbrain_api.vaults.arcs import FOLDERS
from openbrain_api.vaults.folder_pages import MOST_BYTES, MOST_FILES

_WORD = re.compile(r"\w+")
_FRONT_MATTER = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)
_NO_PROSE = re.compile(r"<!--.*?(?:-->|\Z)|^#+ |[*|`]", re.DOTALL | re.MULTILINE)
"""A comment without an end reaches to the end of the page: otherwise each of many is searched for one in vain."""
BEGINNING_CHARS: Final = 700
"""Characters compared by meaning: title, summary, and the beginning of the page."""
_BODY: Final = 0.6
"""Weight of a word that occurs in the page, but not in its title or summary."""


@dataclass(frozen=True, slots=True)
class FoundArc:
    """An arc, its beginning, and the weighted share of the question's words that it contains, 0..1."""

    arc: Arc
    beginning: str
    score: float


@dataclass(frozen=True, slots=True)
class _Page:
    arc: Arc
    beginning: str
    head: frozenset[str]
    body: frozenset[str]


def read(folder: Folder, query: ArcsQuery) -> tuple[list[FoundArc], bool]:
    """Read all arcs, by falling heat. Also return whether all were read."""
    words = _words(query.q)
    if not words:
        raise Invalid("q", "give at least one word")
    pages: list[_Page] = []
    left, complete = MOST_BYTES, True
    for number, entry in enumerate(_pages(folder)):
        left -= entry.size
        if number >= MOST_FILES or left < 0:
            complete = False
            break
        if (arc := _read(folder, entry)) is not None:
            pages.append(arc)
    held = Counter(word for page in pages for word in words & (page.head | page.body))
    weights = {word: log(1 + (len(pages) + 1) / (held[word] + 1)) for word in words}
    pages.sort(key=lambda page: -(page.arc.heat or 0))
    return [FoundArc(page.arc, page.beginning, _score(page, weights)) for page in pages], complete


def best(arcs: Sequence[FoundArc], near: Sequence[float], query: ArcsQuery) -> list[ArcAnswer]:
    """The best arcs that pass the query's filters and contain a word of it, or are near it in meaning. `near`: the
    similarities in the order of `arcs`, 0 if not near or unknown."""
    scored = [
        (round(max(item.score, meaning), 4), item.arc)
        for item, meaning in zip(arcs, near, strict=True)
        if _wanted(item.arc, query)
    ]
    shown = sorted(
        ((score, arc) for score, arc in scored if score and score >= query.min_score),
        key=lambda item: (-item[0], -(item[1].heat or 0), -item[1].created_us, item[1].id),
    )
    return [_answer(arc, score) for score, arc in shown[: query.limit]]


def one(folder: Folder, arc_id: str) -> ArcDetail:
    """Return the arc with this page name. Raise `NotFound` if there is no such page, or it is not an arc."""
    for entry in _pages(folder):
        if _name(entry.path) == arc_id and (arc := _read(folder, entry)) is not None:
            return ArcDetail(**dict(_answer(arc.arc, None)), content=folder.read(entry.path))
    raise NotFound(f"no such arc: {arc_id[:100]}")


def _pages(folder: Folder) -> Iterator[Entry]:
    """All pages of arcs. Regions come before clusters, so that a page's copy in a region wins."""
    seen: set[str] = set()
    for name in FOLDERS:
        for entry in folder.walk(name):
            stem = _name(entry.path)
            if entry.path.endswith(".md") and not stem.startswith("_") and stem not in seen:
                seen.add(stem)
                yield entry


def _name(path: str) -> str:
    return path.rsplit("/", 1)[-1].removesuffix(".md")


def _read(folder: Folder, entry: Entry) -> _Page | None:
    try:
        text = folder.read(entry.path)
        arc = parse_arc(entry.path, text, entry.mtime_ns)
    except NeverRetry:
        return None
    if not arc.ranked or arc.merged or arc.reference:
        return None
    return _Page(arc, _beginning(arc, text), _words(f"{arc.title} {arc.summary}"), _words(text))


def _beginning(arc: Arc, text: str) -> str:
    prose = _NO_PROSE.sub(" ", _FRONT_MATTER.sub("", text))
    return " ".join(f"{arc.title}. {arc.summary} {prose}".split())[:BEGINNING_CHARS]


def _wanted(arc: Arc, query: ArcsQuery) -> bool:
    return (arc.heat or 0) >= query.min_heat and query.project in {None, arc.project}


def _score(page: _Page, weights: dict[str, float]) -> float:
    held = sum(weight for word, weight in weights.items() if word in page.head)
    held += _BODY * sum(weight for word, weight in weights.items() if word in page.body - page.head)
    return round(held / sum(weights.values()), 4)


def _words(text: str) -> frozenset[str]:
    return frozenset(word for word in _WORD.findall(text.casefold()) if len(word) > 1)


def _answer(arc: Arc, score: float | None) -> ArcAnswer:
    return ArcAnswer(
        arc_id=arc.id,
        title=arc.title,
        path=arc.path,
        region=arc.region,
        status=arc.status,
        project=arc.project or None,
        heat=arc.heat,
        summary=arc.summary,
        created_at=to_datetime(arc.created_us),
        score=score,
    )
