"""Splits Markdown into sections at #, ## and ###, but never inside a code fence. No text is lost."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

_HEADING = re.compile(r" {0,3}#{1,3}(?:[ \t]+(?P<text>.*?))?(?:[ \t]+#+)?[ \t]*$")
_WORDS = 6
_WORDS_CHARS = 80
_FENCE = re.compile(r"[ \t]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)?(?P<marks>`{3,}|~{3,})(?P<info>.*)$")


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and the text under it; the first section of a page may have no heading."""

    heading: str
    body: str
    named: bool = True
    """False if the heading is not in the page but only a name for the section."""
    above: tuple[str, ...] = ()
    """Headings directly before it that have no text of their own."""

    @property
    def text(self) -> str:
        """The section's full text, as stored in a memory."""
        return "\n\n".join(part for part in (*self.above, self.heading if self.named else "", self.body) if part)


def first_words(text: str) -> str:
    """A name for a text without a heading; it stays the same when the text's end is edited."""
    return " ".join(text.split()[:_WORDS])[:_WORDS_CHARS]


def full_sections(text: str) -> Iterator[Section]:
    """Sections with text. A heading without text joins the next section; if there is none, a section of headings."""
    above: tuple[str, ...] = ()
    for section in sections(text):
        if section.body:
            yield replace(section, above=above)
        above = () if section.body else (*above, section.heading)
    if above:
        yield Section("", "\n".join(above))


def sections(text: str) -> Iterator[Section]:
    """Put every line of the page into exactly one section, in order; skip a first section without text."""
    heading, fence, body = "", "", list[str]()
    for line in _lines(text):
        title = None if fence else _HEADING.match(line)
        if title is None:
            body.append(line)
            fence = _fence(line, fence)
            continue
        if heading or any(map(str.strip, body)):
            yield _section(heading, body)
        heading, body = (title["text"] or "").strip(), []
    if heading or any(map(str.strip, body)):
        yield _section(heading, body)


def _lines(text: str) -> list[str]:
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def _section(heading: str, body: list[str]) -> Section:
    return Section(heading, "\n".join(body).strip("\n").rstrip())


def _fence(line: str, open_fence: str) -> str:
    """The fence that is open after this line; '' if none is."""
    match = _FENCE.match(line)
    if match is None:
        return open_fence
    marks, info = match["marks"], match["info"].strip()
    if open_fence:
        closes = marks[0] == open_fence[0] and len(marks) >= len(open_fence) and not info
        return "" if closes else open_fence
    # An inline ``` code span ``` in prose opens nothing.
    return "" if marks[0] == "`" and "`" in info else marks


def pieces(text: str, limit: int) -> list[str]:
    """Split `text` into pieces of at most `limit` characters: at empty lines, else at line ends, else anywhere."""
    parts = []
    while len(text) > limit:
        cut = max(text.rfind("\n\n", 1, limit), 0) or max(text.rfind("\n", 1, limit), 0) or limit
        parts.append(text[:cut].strip("\n"))
        text = text[cut:].lstrip("\n")
    return [piece for piece in [*parts, text] if piece.strip()]
