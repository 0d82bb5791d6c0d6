"""The quoted code in a page: text in it that looks like a marker is not one."""

import re
from bisect import bisect_right
from functools import cached_property

_FENCE = re.compile(r"[ \t>]*(`{3,}|~{3,})([^\n]*)")
_TICKS = re.compile(r"`+")


def line_break_of(text: str) -> str:
    """The line break that the text uses."""
    return "\r\n" if "\r\n" in text else "\n"


class Lines:
    """Line offsets of a text; lines count from 0."""

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def starts(self) -> list[int]:
        return [0, *(match.end() for match in re.finditer("\n", self.text))]

    def at(self, offset: int) -> int:
        return bisect_right(self.starts, offset) - 1

    def end(self, line: int) -> int:
        """The offset after a line's line break."""
        return self.starts[line + 1] if line + 1 < len(self.starts) else len(self.text)


class Quoted:
    """The parts of a text inside fences (``` or ~~~) and code spans.

    `unclosed` is the line of an unclosed fence, which runs to the end of the text.
    """

    def __init__(self, lines: Lines) -> None:
        self._lines = lines
        self._spans: dict[int, list[tuple[int, int]]] = {}
        self.unclosed: int | None = None
        self._fenced: list[tuple[int, int]] = []
        if "```" in lines.text or "~~~" in lines.text:
            self._find_fences()

    def holds(self, offset: int) -> bool:
        """True if the text at `offset` is quoted."""
        if self._no_ticks and not self._fenced:
            return False
        line = self._lines.at(offset)
        at = bisect_right(self._firsts, line) - 1
        if at >= 0 and line <= self._fenced[at][1]:
            return True
        if self._no_ticks:
            return False
        if line not in self._spans:
            self._spans[line] = self._spans_of(line)
        spans = self._spans[line]
        at = bisect_right(spans, (offset, len(self._lines.text))) - 1
        return at >= 0 and offset < spans[at][1]

    @cached_property
    def _firsts(self) -> list[int]:
        return [first for first, _ in self._fenced]

    @cached_property
    def _no_ticks(self) -> bool:
        return "`" not in self._lines.text

    def _find_fences(self) -> None:
        text, opened, fence, in_quote = self._lines.text, None, "", False
        for number, start in enumerate(self._lines.starts):
            if opened is not None and in_quote and not text[start : start + 4].lstrip(" ").startswith(">"):
                self._fenced.append((opened, number - 1))  # the end of the block quote also ends its fence
                opened = None
            match = _FENCE.match(text, start)
            if match is None:
                continue
            marks, rest = match[1], match[2]
            if opened is None:
                if marks[0] == "~" or "`" not in rest:  # otherwise it is a code span
                    opened, fence, in_quote = number, marks, ">" in match[0][: -len(marks + rest)]
            elif marks[0] == fence[0] and len(marks) >= len(fence) and not rest.strip():
                self._fenced.append((opened, number))
                opened = None
        if opened is not None:
            self._fenced.append((opened, len(self._lines.starts)))
            self.unclosed = opened

    def _spans_of(self, line: int) -> list[tuple[int, int]]:
        runs = list(_TICKS.finditer(self._lines.text, self._lines.starts[line], self._lines.end(line)))
        later: dict[int, list[int]] = {}
        for number in range(len(runs) - 1, -1, -1):
            later.setdefault(len(runs[number][0]), []).append(number)
        spans, at = [], 0
        while at < len(runs):
            same = later[len(runs[at][0])]
            while same and same[-1] <= at:
                same.pop()
            if same:
                spans.append((runs[at].end(), runs[same[-1]].start()))
                at = same[-1]
            at += 1
        return spans
