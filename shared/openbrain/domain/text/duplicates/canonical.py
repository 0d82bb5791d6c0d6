"""A canonical form of text in which paraphrases are equal: numbers, units, dates, synonyms."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Final

from openbrain.domain.text.duplicates.synonyms import LONGEST_PHRASE, NUMBERS, PHRASES, WEAK, canonical
from openbrain.domain.text.duplicates.tokens import MOST_CHARS, Token, tokens_of

_END = re.compile(r"(?<=[.!?;:])\s+|\n+")
_MONTHS: Final = "jan feb mar apr may jun jul aug sep oct nov dec".split()
_MONTH = r"(?P<month>jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6}\.?"
_DAY = r"(?P<day>[0-3]?\d)(?:st|nd|rd|th)?"
_DATES: Final = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"\b{_DAY} (?:of )?{_MONTH},? (?P<year>\d{{4}})\b",
        rf"\b{_MONTH} {_DAY},? (?P<year>\d{{4}})\b",
        rf"\b{_DAY} (?:of )?{_MONTH}(?![a-z])",
        rf"\b{_MONTH} {_DAY}\b(?![.,:]?\d)",
    )
)
_CLOCK = re.compile(r"\b(?P<hour>1[0-2]|0?[1-9])(?::(?P<minute>[0-5]\d))? ?(?P<half>[ap])\.?m\b\.?", re.IGNORECASE)
_OPENING = re.compile(
    r"""\s*(?:[-*>\u2022]\s+)?(?:(?:
      (?:please\s+)?(?:note|remember|keep\s+in\s+mind|bear\s+in\s+mind|be\s+aware)\b(?:\s+that\b)?
    | just\s+so\s+you\s+know | just\s+a\s+(?:note|reminder) | for\s+the\s+record | as\s+far\s+as\s+i\s+know
    | as\s+(?:noted|mentioned|said|discussed)(?:\s+(?:before|above|earlier))?
    | (?:it\s+)?turns\s+out(?:\s+that)? | (?:it(?:'s|\s+is|\s+seems)\s+)?worth\s+(?:noting|knowing)(?:\s+that)?
    | (?:today\s+)?(?:i|we)\s+(?:have\s+)?(?:just\s+)?(?:learned|learnt|found\s+out|noticed|discovered|saw)
      (?:\s+today)?(?:\s+that)?
    | in\s+(?:our|this)\s+(?:project|case|team|code\s?base) | good\s+to\s+know | heads[\s-]up
    | important | warning | attention | reminder | info | tip | hint | til | fyi | btw | afaik | nb | n\.b\.
    )\b\s*[:,\u2013\u2014-]?\s*)+""",
    re.IGNORECASE | re.VERBOSE,
)
_TIME_UNITS: Final = "second|minute|hour|day|night|week|month|quarter|year"
# Of a long text no part may be read again from each place in it, or its time grows with the square of its length.
_REWRITTEN: Final = tuple(
    (re.compile(pattern, re.IGNORECASE), put)
    for pattern, put in (
        (r"\((?:see|cf\.?|by|via|as|e\.g\.|i\.e\.)\s[^()\d]{1,40}\)", ""),
        (r"\bhalf an? (?=\w)", "0.5 "),
        (r"\bhalf (?=(?:second|minute|hour|day)\b)", "0.5 "),
        (r"\b(?:a )?quarter of an? (?=\w)", "0.25 "),
        (rf"\b(?:per|an?|each|every|once an?|once per|once every) (?=(?:{_TIME_UNITS})\b)", "every "),
        (r"\bdaily\b", "every day"),
        (r"\b(hour|night|week|month|year)ly\b", r"every \1"),
        (r"(?<=\d)k\b", "000"),
        (r"(?<!\d)(?<!\d\.)(\d[\d.]{0,40}) (?:and|or) (?:newer|later|above|higher|up|more)\b", r">= \1"),
        (r"\b(?:at least|no less than|not less than|a minimum of) (?=\w*\d|(?:\w+)\b)", ">= "),
        (r"\b(?:at most|no more than|not more than|up to|a maximum of) (?=\w*\d|(?:\w+)\b)", "<= "),
        (r"\b(?:more|larger|bigger|greater|higher) than (?=\d)", "> "),
        (r"\b(?:over|above|exceeding|beyond) (?=\d)", "> "),
        (r"\b(?:less|smaller|fewer|lower) than (?=\d)", "< "),
        (r"\b(?:under|below) (?=\d)", "< "),
        (r"\u2265|>=|=>", " \u2265 "),
        (r"\u2264|<=|=<", " \u2264 "),
        (r"\bat all\b", ""),
        (r"(?<!not )\ball (?:of )?", ""),
        (r"%", " percent "),
        (r"\bper cent\b", "percent"),
        (r"(^\s*|[.;]\s+)([^\s,.;][^,.;]*?) first, then\b", r"\1first \2, then"),
    )
)
_SCALES: Final = (
    ("ms", {"ms": 1, "millisecond": 1, "s": 1000, "sec": 1000, "second": 1000, "min": 60_000, "minute": 60_000}),
    ("ms", {"h": 3_600_000, "hr": 3_600_000, "hour": 3_600_000, "d": 86_400_000, "day": 86_400_000}),
    ("ms", {"week": 604_800_000}),
    ("bytes", {"byte": 1, "kb": 1 << 10, "kib": 1 << 10, "mb": 1 << 20, "mib": 1 << 20, "gb": 1 << 30, "gib": 1 << 30}),
    ("bytes", {"tb": 1 << 40, "tib": 1 << 40}),
)
_UNITS: Final = {canonical(name): (unit, factor) for unit, names in _SCALES for name, factor in names.items()}
_PLAIN_NUMBER = re.compile(r"\d{1,15}(?:\.\d{1,6})?")


def canonical_sentences(content: str) -> Sequence[tuple[Token, ...]]:
    """The content words of each sentence, each replaced by its canonical word. A long text counts as one sentence."""
    text = content.replace("\u2019", "'").replace("_", " ")
    opening = _OPENING.match(text)
    if opening is not None and opening.end() < len(text):
        text = text[opening.end() :]
        text = text[:1].upper() + text[1:]
    sentences = (text,) if len(text) > MOST_CHARS else _END.split(text)
    forms = (tuple(_with_units(list(_meanings(tokens_of(_rewritten(sentence)))))) for sentence in sentences)
    return [form for form in forms if form]


def _rewritten(text: str) -> str:
    for date in _DATES:
        text = date.sub(_date, text)
    text = _CLOCK.sub(_clock, text)
    for pattern, put in _REWRITTEN:
        text = pattern.sub(put, text)
    return text


def _date(match: re.Match[str]) -> str:
    parts = match.groupdict()
    month = _MONTHS.index(parts["month"].lower()) + 1
    return f"{parts.get('year') or '0000'}-{month:02}-{int(parts['day']):02}"


def _clock(match: re.Match[str]) -> str:
    hour = int(match["hour"]) % 12 + (12 if match["half"] in "pP" else 0)
    return f"{hour:02}:{match['minute'] or '00'}"


def _meanings(tokens: Sequence[Token]) -> Iterator[Token]:
    at = 0
    while at < len(tokens):
        token = tokens[at]
        phrases = PHRASES.get(token.text, {})
        for length in range(min(LONGEST_PHRASE, len(tokens) - at), 0, -1) if phrases else ():
            meaning = phrases.get(tuple(token.text for token in tokens[at : at + length]))
            if meaning is not None:
                yield replace(token, text=canonical(meaning))
                break
        else:
            length = 1
            yield from _meaning(token)
        at += length


def _meaning(token: Token) -> Iterator[Token]:
    if token.text in NUMBERS:
        yield Token(NUMBERS[token.text], exact=True, spelled=True)
    elif token.text == "never":
        yield replace(token, text="not")
    elif not token.text.isalpha():
        yield token
    elif token.text not in WEAK or (token.exact and token.text != "always"):
        yield replace(token, text=canonical(token.text))


def _with_units(tokens: list[Token]) -> Iterator[Token]:
    """Merge a number and its unit into one token, in the smallest unit of its kind."""
    at = 0
    while at < len(tokens):
        number, unit = tokens[at].text, tokens[at + 1].text if at + 1 < len(tokens) else ""
        known = _UNITS.get(unit) if _PLAIN_NUMBER.fullmatch(number) else None
        if known is None:
            yield tokens[at]
        else:
            name, factor = known
            yield Token(f"{(Decimal(number) * factor).normalize():f}{name}", exact=True, spelled=True)
            at += 1
        at += 1
