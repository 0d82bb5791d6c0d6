"""Secrets are kept out of the store: keys, tokens, passwords, private keys and connection strings, found by their form.

The rules are Kingfisher's, which are kept by its makers; ours beside them are of our own keys, and of a value that is
assigned to a name such as `password`. Nothing is checked against any service. Texts without anything that could be a
secret, nearly all, never reach the detector, and it is loaded with the first that does.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from openbrain.domain.errors import Invalid

COMPONENT_ENTROPY: Final = 4.0
"""What only counts beside another finding is masked with it from here on: the name of an account is none."""
_SHORTEST: Final = 6
_ASSIGNED_CHARS: Final = 12
"""Of a value without quotes that is no password: `secret: SHA-256` is none."""
_LONG: Final = 20
"""Characters without a space, from which on they may be a key."""
_NAMES: Final = ("passw", "passphrase", "secret", "token", "api_key", "apikey", "credential", "auth")
_OWN_KEY = re.compile(r"(?<![\w-])ob_[A-Za-z0-9_-]{43}(?![\w-])")
_ASSIGNED = re.compile(
    r"""(?<![A-Za-z0-9])(?:[A-Za-z0-9]{1,40}[_.-]){0,4}(?P<name>
    passwo?r?d|passphrase|api_?key|secret(?:_?key)?|(?:client|shared)_?secret|(?:auth|access|refresh|api)?_?token)
    ["']?\s*[:=]\s*(?P<quote>["']?)(?P<value>[^\s"'`<>{}()$]{8,200}?)(?P=quote)(?=[\s"',;)}\]]|$)""",
    re.IGNORECASE | re.VERBOSE,
)
_NO_VALUE = re.compile(r"(?i)(.)\1{5,}|change_?me|replace|example|your[_-]|redacted|^[a-z]+([._-][a-z]+)*$|[\[\]*]")


@dataclass(frozen=True, slots=True)
class Finding:
    """One secret: its kind, and where its bytes stand in the text's UTF-8."""

    kind: str
    start: int
    end: int


class SecretPolicy:
    """`ContentPolicy` that masks or refuses what holds a secret. Errors and masks name its kind, never its value."""

    def __init__(self, *, refuse: bool = False) -> None:
        self._refuse = refuse

    def admit(self, content: str) -> str:
        """The content with `[redacted: kind]` for each secret; `Invalid` where the policy is to refuse it."""
        found = findings(content) if may_hold_secret(content) else ()
        if not found:
            return content
        if self._refuse:
            kinds = ", ".join(dict.fromkeys(each.kind for each in found))
            raise Invalid("content", f"holds a secret ({kinds}): store where it is kept, and not its value")
        return _masked(content, found)


def findings(content: str) -> Sequence[Finding]:
    """The secrets of a text, in order; one that begins within another is left to it."""
    both = [*_kept_rules(content.encode()), *_own_rules(content)]
    apart: list[Finding] = []
    for each in sorted(both, key=lambda each: (each.start, -each.end)):
        if not apart or each.start >= apart[-1].end:
            apart.append(each)
    return apart


def may_hold_secret(content: str) -> bool:
    """A cheap look that lets prose pass: it is right about what holds none."""
    if max(map(len, content.split()), default=0) >= _LONG or "-----BEGIN" in content:
        return True
    if "=" not in content and ":" not in content:
        return False
    lower = content.lower()
    return ("://" in lower and "@" in lower) or any(name in lower for name in _NAMES)


@cache
def _kingfisher() -> Any:
    """The detector with its rules. The first time on a machine they are compiled, which takes seconds."""
    from kingfisher_sdk import Rules, Scanner

    return Scanner(Rules(confidence="medium"), base64=False)


def _kept_rules(raw: bytes) -> Iterator[Finding]:
    for each in _kingfisher().scan(raw):
        if each.visible or (each.entropy or 0) >= COMPONENT_ENTROPY:
            place = each.location
            start, end = int(place["start_offset"]), int(place["end_offset"])
            if end - start >= _SHORTEST:
                yield Finding(re.sub(r".*[./]", "", each.rule_id), start, end)


def _own_rules(content: str) -> Iterator[Finding]:
    for key in _OWN_KEY.finditer(content):
        yield _finding("openbrain-key", content, *key.span())
    for assigned in _ASSIGNED.finditer(content):
        value = assigned["value"]
        long_enough = len(value) >= _ASSIGNED_CHARS or bool(assigned["quote"]) or assigned["name"][0] in "Pp"
        if long_enough and _NO_VALUE.search(value) is None and _is_mixed(value):
            yield _finding(f"assigned-{assigned['name'].lower().replace('_', '-')}", content, *assigned.span("value"))


def _is_mixed(value: str) -> bool:
    """Letters and digits, and not few of them again and again: neither a word nor a number nor a filling."""
    mixed = any(map(str.isdigit, value)) and any(map(str.isalpha, value))
    return mixed and len({*value}) > len(value) // 3


def _finding(kind: str, content: str, start: int, end: int) -> Finding:
    if content.isascii():
        return Finding(kind, start, end)
    begins = len(content[:start].encode())
    return Finding(kind, begins, begins + len(content[start:end].encode()))


def _masked(content: str, found: Sequence[Finding]) -> str:
    raw, parts, at = content.encode(), [], 0
    for each in found:
        parts += [raw[at : each.start], f"[redacted: {each.kind}]".encode()]
        at = each.end
    return b"".join([*parts, raw[at:]]).decode(errors="replace")
