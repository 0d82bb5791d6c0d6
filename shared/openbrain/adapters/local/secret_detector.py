"""Keeps secrets out of the store: keys, tokens, passwords, private keys and connection strings, found by their format.

The rules are Kingfisher's, maintained upstream. Own rules find OpenBrain's keys and values that are assigned to a name
such as `password`. Nothing is verified with any service. Most texts contain nothing that could be a secret and skip the
detector.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from openbrain.adapters.local.secret_rules import RULES, SecretRules
from openbrain.ports.content import Finding, NamedText

COMPONENT_ENTROPY: Final = 4.0
"""Minimum entropy to mask a finding that counts only in combination with another one. An account name has less."""
_SHORTEST: Final = 6
_ASSIGNED_CHARS: Final = 12
"""Minimum length of an unquoted value, unless its name is a password: `secret: SHA-256` is no secret."""
_LONG: Final = 20
"""A word with at least this many characters may be a key."""
_NAMES: Final = ("passw", "passphrase", "secret", "token", "api_key", "apikey", "credential", "auth")
_ASSIGNED_NAMES: Final = (
    *("passwd", "passwod", "passwrd", "password", "passphrase", "apikey", "api_key"),
    *("secret", "secretkey", "secret_key", "token"),
)
"""Every name that `_ASSIGNED` matches ends with one of these."""
_BETWEEN: Final = "\n;\n"
"""Separator of texts that are scanned together: no rule matches across it."""
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
    """One secret: its kind and its byte offsets in the text's UTF-8."""

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
        """Wait for the rules; True if they were loaded. Without them only our own rules find anything."""
        return await self._rules.ready()

    def find(self, texts: Sequence[NamedText]) -> Sequence[Sequence[Finding]]:
        """Scan all texts together; return each finding with the text that contains it."""
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
    """Return the secrets of a text in order, without those that begin inside another one."""
    both = [*_kept_rules(content.encode(), rules), *_own_rules(content)]
    apart: list[Place] = []
    for secret in sorted(both, key=lambda item: (item.start, -item.end)):
        if not apart or secret.start >= apart[-1].end:
            apart.append(secret)
    return apart


def may_hold_secret(content: str) -> bool:
    """A cheap check for ordinary prose: False only if the text surely contains no secret."""
    if max(map(len, content.split()), default=0) >= _LONG or "-----BEGIN" in content:
        return True
    lower = content.casefold()
    last_sign = max(lower.rfind(":"), lower.rfind("="))
    if last_sign < 0:
        return False
    return ("://" in lower and "@" in lower) or any(lower.find(name, 0, last_sign) >= 0 for name in _NAMES)


def _joined(texts: Sequence[NamedText]) -> str:
    return _BETWEEN.join([_label(field) + text if "." in field else text for field, text in texts])


def _label(field: str) -> str:
    """The key of a metadata value, as a prefix: a key such as `password` shows what the value is."""
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
    """True if a name of `_ASSIGNED` precedes a sign. Much faster than the full expression."""
    *before, _ = _SIGN.split(content.casefold())
    return any(part.rstrip().rstrip("\"'").endswith(_ASSIGNED_NAMES) for part in before)


def _is_mixed(value: str) -> bool:
    """True if the value has letters and digits and enough different characters: no word, number or filler."""
    mixed = any(map(str.isdigit, value)) and any(map(str.isalpha, value))
    return mixed and len({*value}) > len(value) // 3


def _place(kind: str, content: str, start: int, end: int) -> Place:
    if content.isascii():
        return Place(kind, start, end)
    begins = len(content[:start].encode())
    return Place(kind, begins, begins + len(content[start:end].encode()))


def _chars(raw: bytes, count: int) -> int:
    """The number of characters in the first `count` bytes."""
    within = raw[: max(count, 0)]
    return len(within) if raw.isascii() else len(within.decode(errors="ignore"))
