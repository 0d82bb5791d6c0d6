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
from openbrain.domain.errors import Invalid, TryLater
from openbrain.ports.store.writes import NamedText

COMPONENT_ENTROPY: Final = 4.0
"""What only counts beside another finding is masked with it from here on: the name of an account is none."""
_SHORTEST: Final = 6
_ASSIGNED_CHARS: Final = 12
"""Of a value without quotes that is no password: `secret: SHA-256` is none."""
_LONG: Final = 20
"""Characters without a space, from which on they may be a key."""
_NAMES: Final = ("passw", "passphrase", "secret", "token", "api_key", "apikey", "credential", "auth")
_ASSIGNED_NAMES: Final = ("passw", "passphrase", "apikey", "api_key", "secret", "token")
"""One of them is in every name of `_ASSIGNED`."""
_BETWEEN: Final = "\n;\n"
"""Between texts that are looked at together: no rule reads on across it."""
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

    def __init__(self, *, refuse: bool = False, rules: SecretRules = RULES) -> None:
        self._refuse = refuse
        self._rules = rules

    def start(self) -> None:
        """Load the rules in a thread."""
        self._rules.start()

    async def ready(self) -> None:
        """Wait for the rules. Without them secrets are masked by our own; who must not store any refuses the write."""
        if not await self._rules.ready() and self._refuse:
            raise TryLater(
                "secrets can't be looked for, because the rules could not be loaded: the log says why "
                "(secrets.rules_not_loaded); OPENBRAIN_SECRETS__POLICY=mask goes on without them"
            )

    def passes(self, texts: Sequence[NamedText]) -> bool:
        """Whether nothing is found in any of them."""
        return not self._findings(texts)

    def admit(self, texts: Sequence[NamedText], *, refusing: bool = True) -> Sequence[str]:
        """The texts with `[redacted: kind]` for each secret; `Invalid` where the policy is to refuse it, and `refusing`
        holds."""
        found = self._findings(texts)
        if not found:
            return [text for _, text in texts]
        return self._masked(texts, found, refuse=self._refuse and refusing)

    def _findings(self, texts: Sequence[NamedText]) -> Sequence[Finding]:
        """In the joined texts."""
        joined = _joined(texts)
        return findings(joined, self._rules) if may_hold_secret(joined) else ()

    def _masked(self, texts: Sequence[NamedText], found: Sequence[Finding], *, refuse: bool) -> Sequence[str]:
        """Each finding is masked in the text that it stands in."""
        masked, at = [], 0
        for field, text in texts:
            start = at + len(_label(field).encode())
            end = start + len(text.encode())
            own = [
                Finding(each.kind, max(each.start, start) - start, min(each.end, end) - start)
                for each in found
                if each.start < end and each.end > start
            ]
            if own and refuse:
                kinds = ", ".join(dict.fromkeys(each.kind for each in own))
                raise Invalid(field, f"holds a secret ({kinds}): store where it is kept, and not its value")
            masked.append(_masked(text, own) if own else text)
            at = end + len(_BETWEEN)
        return masked


def findings(content: str, rules: SecretRules = RULES) -> Sequence[Finding]:
    """The secrets of a text, in order; one that begins within another is left to it."""
    both = [*_kept_rules(content.encode(), rules), *_own_rules(content)]
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
    lower = content.casefold()
    return ("://" in lower and "@" in lower) or any(name in lower for name in _NAMES)


def _joined(texts: Sequence[NamedText]) -> str:
    return _BETWEEN.join([_label(field) + text if "." in field else text for field, text in texts])


def _label(field: str) -> str:
    """Of a value, the key that it was given: `password` tells what stands beside it."""
    _, dot, key = field.rpartition(".")
    return f"{key}: " if dot else ""


def _kept_rules(raw: bytes, rules: SecretRules) -> Iterator[Finding]:
    detector = rules.detector()
    for each in () if detector is None else detector.scan(raw):
        if each.visible or (each.entropy or 0) >= COMPONENT_ENTROPY:
            place = each.location
            start, end = int(place["start_offset"]), int(place["end_offset"])
            if end - start >= _SHORTEST:
                yield Finding(re.sub(r".*[./]", "", each.rule_id), start, end)


def _own_rules(content: str) -> Iterator[Finding]:
    if "ob_" in content:
        for key in _OWN_KEY.finditer(content):
            yield _finding("openbrain-key", content, *key.span())
    if not _names_secret(content):
        return
    for assigned in _ASSIGNED.finditer(content):
        value = assigned["value"]
        long_enough = len(value) >= _ASSIGNED_CHARS or bool(assigned["quote"]) or assigned["name"][0] in "Pp"
        if long_enough and _NO_VALUE.search(value) is None and _is_mixed(value):
            yield _finding(f"assigned-{assigned['name'].lower().replace('_', '-')}", content, *assigned.span("value"))


def _names_secret(content: str) -> bool:
    """Whether a name of `_ASSIGNED` can be in it: many times as quick as to look for one."""
    if "=" not in content and ":" not in content:
        return False
    folded = content.casefold()
    return any(name in folded for name in _ASSIGNED_NAMES)


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
