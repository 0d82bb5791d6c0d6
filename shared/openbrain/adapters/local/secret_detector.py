"""Secrets are kept out of the store: keys, tokens, passwords, private keys and connection strings, found by their form.

The rules are Kingfisher's, which are kept by its makers; ours beside them are of our own keys, and of a value that is
assigned to a name such as `password`. Nothing is checked against any service. Texts without anything that could be a
secret, nearly all, never reach the detector.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from openbrain.adapters.local.secret_rules import RULES, SecretRules
from openbrain.ports.content import Finding, NamedText

COMPONENT_ENTROPY: Final = 4.0
"""Entropy from which a finding that only counts beside another is masked too: the name of an account is none."""
_SHORTEST: Final = 6
_ASSIGNED_CHARS: Final = 12
"""Of a value without quotes that is no password: `secret: SHA-256` is none."""
_LONG: Final = 20
"""Characters without a space, from which on they may be a key."""
_NAMES: Final = ("passw", "passphrase", "secret", "token", "api_key", "apikey", "credential", "auth")
_ASSIGNED_NAMES: Final = (
    *("passwd", "passwod", "passwrd", "password", "passphrase", "apikey", "api_key"),
    *("secret", "secretkey", "secret_key", "token"),
)
"""Every name of `_ASSIGNED` ends with one of them."""
_BETWEEN: Final = "\n;\n"
"""Between texts that are looked at together: no rule reads on across it."""
_OWN_KEY = re.compile(r"(?<![\w-])ob_[A-Za-z0-9_-]{43}(?![\w-])")
_ASSIGNED = re.compile(
    r"""(?<![A-Za-z0-9])(?:[A-Za-z0-9]{1,40}[_.-]){0,4}(?P<name>
    passwo?r?d|passphrase|api_?key|secret(?:_?key)?|(?:client|shared)_?secret|(?:auth|access|refresh|api)?_?token)
    ["']?\s*[:=]\s*(?P<quote>["']?)(?P<value>[^\s"'`<>{}()$]{8,200}?)(?P=quote)(?=[\s"',;)}\]]|$)""",
    re.IGNORECASE | re.VERBOSE,
)
_SIGN = re.compile(r"[:=]")
_NO_VALUE = re.compile(r"(?i)(.)\1{5,}|change_?me|replace|example|your[_-]|redacted|^[a-z]+([._-][a-z]+)*$|[\[\]*]")


@dataclass(frozen=True, slots=True)
class Place:
    """One secret: its kind, and where its bytes stand in the text's UTF-8."""

    kind: str
    start: int
    end: int


class SecretDetector:
    """`Detector` of secrets."""

    def __init__(self, rules: SecretRules = RULES) -> None:
        self._rules = rules

    def start(self) -> None:
        """Load the rules in a thread."""
        self._rules.start()

    async def ready(self) -> bool:
        """Wait for the rules. Without them only our own find anything."""
        return await self._rules.ready()

    def find(self, texts: Sequence[NamedText]) -> Sequence[Sequence[Finding]]:
        """All are looked at together; each finding counts in the text that it stands in."""
        joined = _joined(texts)
        if not may_hold_secret(joined) or not (secrets := findings(joined, self._rules)):
            return [()] * len(texts)
        placed, at = [], 0
        for field, text in texts:
            raw = text.encode()
            start = at + len(_label(field).encode())
            end = start + len(raw)
            placed.append(
                [
                    Finding(secret.kind, _chars(raw, secret.start - start), _chars(raw, secret.end - start))
                    for secret in secrets
                    if secret.start < end and secret.end > start
                ]
            )
            at = end + len(_BETWEEN)
        return placed


def findings(content: str, rules: SecretRules = RULES) -> Sequence[Place]:
    """The secrets of a text, in order; one that begins within another is left to it."""
    both = [*_kept_rules(content.encode(), rules), *_own_rules(content)]
    apart: list[Place] = []
    for secret in sorted(both, key=lambda item: (item.start, -item.end)):
        if not apart or secret.start >= apart[-1].end:
            apart.append(secret)
    return apart


def may_hold_secret(content: str) -> bool:
    """A cheap look that lets prose pass: it is right about what holds none."""
    if max(map(len, content.split()), default=0) >= _LONG or "-----BEGIN" in content:
        return True
    if "=" not in content and ":" not in content:
        return False
    lower = content.casefold()
    return ("://" in lower and "@" in lower) or any(name in lower for name in _NAMES)


def _joined(texts: Sequence[NamedText]) -> str:
    return _BETWEEN.join([_label(field) + text if "." in field else text for field, text in texts])


def _label(field: str) -> str:
    """Of a value, the key that it was given: `password` tells what stands beside it."""
    _, dot, key = field.rpartition(".")
    return f"{key}: " if dot else ""


def _kept_rules(raw: bytes, rules: SecretRules) -> Iterator[Place]:
    detector = rules.detector()
    for item in () if detector is None else detector.scan(raw):
        if item.visible or (item.entropy or 0) >= COMPONENT_ENTROPY:
            place = item.location
            start, end = int(place["start_offset"]), int(place["end_offset"])
            if end - start >= _SHORTEST:
                yield Place(re.sub(r".*[./]", "", item.rule_id), start, end)


def _own_rules(content: str) -> Iterator[Place]:
    if "ob_" in content:
        for key in _OWN_KEY.finditer(content):
            yield _place("openbrain-key", content, *key.span())
    if not _names_secret(content):
        return
    for assigned in _ASSIGNED.finditer(content):
        value = assigned["value"]
        long_enough = len(value) >= _ASSIGNED_CHARS or bool(assigned["quote"]) or assigned["name"][0] in "Pp"
        if long_enough and _NO_VALUE.search(value) is None and _is_mixed(value):
            yield _place(f"assigned-{assigned['name'].lower().replace('_', '-')}", content, *assigned.span("value"))


def _names_secret(content: str) -> bool:
    """Whether a name of `_ASSIGNED` stands before a sign: many times as quick as to look for what it is given."""
    *before, _ = _SIGN.split(content.casefold())
    return any(part.rstrip().rstrip("\"'").endswith(_ASSIGNED_NAMES) for part in before)


def _is_mixed(value: str) -> bool:
    """Letters and digits, and not few of them again and again: neither a word nor a number nor a filling."""
    mixed = any(map(str.isdigit, value)) and any(map(str.isalpha, value))
    return mixed and len({*value}) > len(value) // 3


def _place(kind: str, content: str, start: int, end: int) -> Place:
    if content.isascii():
        return Place(kind, start, end)
    begins = len(content[:start].encode())
    return Place(kind, begins, begins + len(content[start:end].encode()))


def _chars(raw: bytes, count: int) -> int:
    """Of so many bytes of it."""
    within = raw[: max(count, 0)]
    return len(within) if raw.isascii() else len(within.decode(errors="ignore"))
