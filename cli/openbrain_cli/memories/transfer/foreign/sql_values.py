"""Values of an INSERT statement, as MySQL, MariaDB, PostgreSQL and SQLite write them in a dump."""

import re
from collections.abc import Iterator
from typing import Any

_MYSQL_TEXT = r"'(?:[^'\\]|\\.|'')*'"
_PLAIN_TEXT = r"'(?:[^']|'')*'"
_REST = (
    r"(?P<hex>[xX]'[0-9A-Fa-f]*'|0x[0-9A-Fa-f]+)"
    r"|(?P<number>[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)"
    r"|(?P<word>NULL|TRUE|FALSE)\b"
)
_CAST = r"(?:::\w+(?:\(\d+\))?(?:\[\])?)?"
_CALL = re.compile(r"(?P<name>replace|unistr)\(", re.IGNORECASE)
_CHARACTER = re.compile(r"\s*char\((\d+)\)\s*", re.IGNORECASE)
_SPACE = re.compile(r"\s*")
_END = re.compile(r"(?:(?:AS|ON|RETURNING)\b[^;]*)?;?\s*\Z", re.IGNORECASE)
_ESCAPES = {"0": "\0", "b": "\b", "n": "\n", "r": "\r", "t": "\t", "Z": "\x1a"}
_ESCAPED = re.compile(r"\\(.)|''", re.DOTALL)
_UNICODE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-9a-fA-F]{4})|(\\))")
_WORDS = {"NULL": None, "TRUE": True, "FALSE": False}


class NoValue(Exception):
    """There is something else where a value is expected."""


def tuples(text: str, at: int, *, mysql: bool) -> Iterator[list[Any]]:
    """Yield the values of each tuple in `(…), (…);` from `at` on. Raise `NoValue` at anything else, also if another
    statement follows."""
    reader = _Reader(text, at, mysql=mysql)
    while True:
        reader.expect("(")
        values = [reader.value()]
        while reader.sees(","):
            values.append(reader.value())
        reader.expect(")")
        yield values
        if not reader.sees(","):
            reader.end()
            return


class _Reader:
    def __init__(self, text: str, at: int, *, mysql: bool) -> None:
        self._text = text
        self._at = at
        self._mysql = mysql
        prefix, plain = r"(?:_\w+\s*|[nN])?", rf"(?P<escaped>[eE]{_MYSQL_TEXT})|(?P<text>{_PLAIN_TEXT})"
        quoted = rf"{prefix}(?P<text>{_MYSQL_TEXT})" if mysql else plain
        self._token = re.compile(rf"(?:{quoted}|{_REST}){_CAST}", re.DOTALL)

    def sees(self, mark: str) -> bool:
        """If `mark` comes next, skip it and return True."""
        at = self._next()
        if self._text[at : at + 1] != mark:
            return False
        self._at = at + 1
        return True

    def expect(self, mark: str) -> None:
        if not self.sees(mark):
            raise NoValue

    def end(self) -> None:
        """Raise `NoValue` unless the statement ends here, or with what to do about rows that exist."""
        if not _END.match(self._text, self._next()):
            raise NoValue

    def value(self) -> Any:
        at = self._next()
        if call := _CALL.match(self._text, at):
            self._at = call.end()
            return self._called(call["name"].lower())
        if (token := self._token.match(self._text, at)) is None:
            raise NoValue
        self._at = token.end()
        return self._read(token)

    def _next(self) -> int:
        space = _SPACE.match(self._text, self._at)
        return space.end() if space else self._at

    def _read(self, token: re.Match[str]) -> Any:
        parts = token.groupdict()
        if (text := parts["text"]) is not None:
            inner = text[1:-1]
            return _unescaped(inner) if self._mysql else inner.replace("''", "'")
        if escaped := parts.get("escaped"):
            return _unescaped(escaped[2:-1])
        if digits := parts["hex"]:
            plain = digits[2:].rstrip("'")
            return bytes.fromhex(plain if len(plain) % 2 == 0 else f"0{plain}").decode("utf-8", "replace")
        if number := parts["number"]:
            return float(number) if any(mark in number for mark in ".eE") else int(number)
        return _WORDS[parts["word"].upper()]

    def _called(self, name: str) -> Any:
        """Evaluate `replace` or `unistr`, with which SQLite's shell writes text that has line ends."""
        value = self.value()
        if not isinstance(value, str):
            raise NoValue
        if name == "unistr":
            self.expect(")")
            return _UNICODE.sub(_character, value)
        self.expect(",")
        old = self.value()
        self.expect(",")
        if (new := _CHARACTER.match(self._text, self._at)) is None or not isinstance(old, str):
            raise NoValue
        self._at = new.end()
        self.expect(")")
        return value.replace(old, chr(int(new[1])))


def _unescaped(text: str) -> str:
    return _ESCAPED.sub(lambda match: _ESCAPES.get(match[1], match[1]) if match[1] else "'", text)


def _character(match: re.Match[str]) -> str:
    digits = match[1] or match[2] or match[3]
    return chr(int(digits, 16)) if digits else "\\"
