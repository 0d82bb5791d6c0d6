"""Finds personal data: e-mail and IP addresses, phone numbers, cards, accounts, national ids, URLs with a password.

To avoid chance matches, formats with check digits are verified, and the others need a matching context.
"""

import re
from collections.abc import Iterator, Sequence
from ipaddress import AddressValueError, IPv4Address, IPv6Address, ip_network
from typing import Final

from stdnum import iban, luhn

from openbrain.adapters.personal_data.national_ids import national_ids
from openbrain.adapters.personal_data.phones import phones
from openbrain.ports.content import Finding, NamedText

_EMAIL = re.compile(
    r"(?<!\w)(?<!//)\w(?:[\w.%+'-]{0,62}[\w+-])?@(?P<domain>(?:[^\W_](?:[\w-]{0,61}[^\W_])?\.){1,8}(?P<top>[^\W\d_]{2,24}))"
    r"(?![\w-]|\.\w|:[\w/~])"
)
_NO_TOP: Final = frozenset(
    "png jpg jpeg gif svg webp avif ico bmp pdf css scss js ts tsx jsx py rs go rb java json yaml yml toml md txt html"
    " xml service socket timer target mount scope slice zip tar gz whl jar lock log".split()
)
"""File and unit extensions, where an address has its top-level domain."""
_FOUR = re.compile(r"(?<![\w.+-])\d{1,3}(?:\.\d{1,3}){3}(?![\w-]|\.\d)")
_VERSION_BEFORE = re.compile(
    r"(?:(?:version|release|rev|revision|build|firmware|ver)\W{0,3}|[=<>~^]=\s?)$", re.IGNORECASE
)
_VERSION_PART: Final = 20
"""Four numbers that are all below this are read as a version."""
_SIX = re.compile(
    r"(?<![\w:.])[23][0-9A-Fa-f]{3}:[0-9A-Fa-f:.]{2,40}(?<![:.])(?![\w:])|(?<![\w:.])[23][0-9A-Fa-f]{3}:[0-9A-Fa-f:]{0,34}::(?![\w:])"
)
"""Routed IPv6 addresses begin with 2 or 3."""
_NOBODYS: Final = tuple(
    ip_network(net)
    for net in (
        *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16"),
        *("172.16.0.0/12", "192.168.0.0/16", "224.0.0.0/3"),
    )
)
"""Private, local, multicast and reserved networks: no findings. Addresses reserved for documentation are findings."""
_CARD = re.compile(
    r"(?<![\w.-])(?:\d{14,19}|\d{4}(?P<four>[ -])\d{4}(?P=four)\d{4}(?P=four)\d{4}"
    r"|\d{4}(?P<six>[ -])\d{6}(?P=six)\d{4,5})(?![\w-]|[.,]\d)"
)
_NETWORKS: Final = re.compile(
    r"4\d{15}|(?:5[1-5]\d\d|222[1-9]|22[3-9]\d|2[3-6]\d\d|27[01]\d|2720)\d{12}|3[47]\d{13}|3(?:0[0-5]|[689]\d)\d{11}"
    r"|(?:6011|65\d\d|64[4-9]\d)\d{12}|35(?:2[89]|[3-8]\d)\d{12}|62\d{14,17}"
)
"""Card networks by first digits and length: Visa, Mastercard, American Express, Diners, Discover, JCB, UnionPay."""
_IBAN = re.compile(r"(?<![A-Za-z0-9])[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?(?![A-Za-z0-9])")
_END_OF_GROUP = re.compile(r"(?<=\w)(?= |$)")
_URL = re.compile(
    r"(?<![\w+.-])[A-Za-z][\w+.-]{1,20}://(?P<account>[^\s/@:\"'<>{}$\[\]]{0,100}:[^\s/@\"'<>{}$\[\]*%]{3,200})@[\w\[]"
)
_NO_PASSWORD = re.compile(r"(?i):(?:x{3,}|\.{3}|pass(?:word)?|secret|user|changeme)$")


class PersonalDataDetector:
    """`Detector` of personal data."""

    def start(self) -> None:
        """Do nothing: there is nothing to load."""

    async def ready(self) -> bool:
        """Return True at once."""
        return True

    def find(self, texts: Sequence[NamedText]) -> Sequence[Sequence[Finding]]:
        """In a metadata value, its key counts as the name before it."""
        return [_under(field, text) for field, text in texts]


def _under(field: str, text: str) -> Sequence[Finding]:
    _, dot, key = field.rpartition(".")
    if not dot:
        return personal_data(text)
    before = len(key) + 2
    findings = personal_data(f"{key}: {text}")
    return [
        Finding(finding.kind, max(finding.start - before, 0), finding.end - before)
        for finding in findings
        if finding.end > before
    ]


def personal_data(text: str) -> Sequence[Finding]:
    """Return the findings in order, without those that begin inside another one."""
    if not may_hold_personal_data(text):
        return ()
    apart: list[Finding] = []
    for finding in sorted(_all(text), key=lambda item: (item.start, -item.end)):
        if not apart or finding.start >= apart[-1].end:
            apart.append(finding)
    return apart


def may_hold_personal_data(text: str) -> bool:
    """A cheap check: False only if the text surely contains none."""
    return "@" in text or _SOME_DIGITS.search(text) is not None


_SOME_DIGITS = re.compile(r"\d[\d ./:A-Za-z()-]{0,4}\d[\d ./:A-Za-z()-]{0,4}\d|::")


def _all(text: str) -> Iterator[Finding]:
    if "@" in text:
        yield from _with_at(text)
    if _SOME_DIGITS.search(text) is None:
        return
    yield from _addresses(text)
    for match in _CARD.finditer(text):
        digits = re.sub(r"\D", "", match[0])
        if _NETWORKS.fullmatch(digits) and luhn.is_valid(digits):
            yield Finding("card", *match.span())
    for match in _IBAN.finditer(text):
        for end in reversed([item.start() for item in _END_OF_GROUP.finditer(match[0])]):
            if iban.is_valid(match[0][:end]):
                yield Finding("iban", match.start(), match.start() + end)
                break
    for start, end in phones(text):
        yield Finding("phone", start, end)
    for kind, start, end in national_ids(text):
        yield Finding(kind, start, end)


def _with_at(text: str) -> Iterator[Finding]:
    for match in _EMAIL.finditer(text):
        if match["top"].lower() not in _NO_TOP and not match[0].startswith("git@"):
            yield Finding("email", *match.span())
    for match in _URL.finditer(text):
        if not _NO_PASSWORD.search(match["account"]):
            yield Finding("url-credentials", *match.span("account"))


def _addresses(text: str) -> Iterator[Finding]:
    for match in _FOUR.finditer(text):
        try:
            address = IPv4Address(match[0])
        except AddressValueError:
            continue
        if any(address in network for network in _NOBODYS) or max(address.packed) < _VERSION_PART:
            continue
        if not _VERSION_BEFORE.search(text, max(0, match.start() - 16), match.start()):
            yield Finding("ip-address", *match.span())
    for match in _SIX.finditer(text):
        try:
            IPv6Address(match[0])
        except AddressValueError:
            continue
        yield Finding("ip-address", *match.span())
