"""`@path` in a CLAUDE.md: refers to another file to read, unless it is in code or is only an address or a name."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_IMPORT = re.compile(r"(?:^|(?<=[\s(]))@(?P<path>(?:\\ |[^\s`,;)])+)")
_TICKS = re.compile(r"`+")
_FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})")
_TEXT = (".md", ".markdown", ".txt")


@dataclass(frozen=True, slots=True)
class Import:
    """One import, as written."""

    written: str
    line: int

    @property
    def surely(self) -> bool:
        """True if it names a text file, and not a package, a person or a data file."""
        return self.written.lower().endswith(_TEXT)

    def path(self, folder: Path, home: Path) -> Path:
        """The target, relative to the folder of the file with the reference."""
        written = Path(self.written)
        return home.joinpath(*written.parts[1:]) if written.parts[:1] == ("~",) else folder / written


def imports_of(text: str, first_line: int = 1) -> Iterator[Import]:
    """The references in a text, in order."""
    for number, line in prose(text, first_line):
        for match in _IMPORT.finditer(line):
            written = match["path"].replace("\\ ", " ").rstrip(".:!?\"'")
            if written:
                yield Import(written, number)


def without_imports(text: str) -> str:
    """The text without lines that only import, so that a page with nothing else counts as empty."""
    return "\n".join(line for line in text.split("\n") if not _IMPORT.fullmatch(line.strip()))


def prose(text: str, first_line: int = 1) -> Iterator[tuple[int, str]]:
    """Yield the lines outside code fences, with their numbers and without inline code."""
    fence = ""
    for number, line in enumerate(text.split("\n"), first_line):
        match = _FENCE.match(line)
        if match is None:
            if not fence:
                yield number, _without_code(line)
        elif not fence:
            fence = match[1]
        elif match[1][0] == fence[0] and len(match[1]) >= len(fence):
            fence = ""


def _without_code(line: str) -> str:
    """Replace each inline code, from backticks to the next run of as many, by a space. Takes linear time, even for a
    line of backticks only."""
    runs = list(_TICKS.finditer(line))
    closings, later = [0] * len(runs), dict[int, int]()
    for index in range(len(runs) - 1, -1, -1):
        ticks = len(runs[index][0])
        closings[index] = later.get(ticks, 0)
        later[ticks] = index
    kept, at, index = list[str](), 0, 0
    while index < len(runs):
        if closing := closings[index]:
            kept += line[at : runs[index].start()], " "
            at, index = runs[closing].end(), closing
        index += 1
    return "".join((*kept, line[at:]))
