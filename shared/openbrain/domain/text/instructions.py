"""Detects text that tries to instruct the model reading it, to label it for readers. It is stored and found as
usual."""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from enum import StrEnum
from functools import cache
from typing import Final, NamedTuple

from openbrain.domain.text.displayed import TEMPLATE_MARK

_IMPERATIVE: Final = r"(?:^|[.:;!?,>\])] |\b(?:please|and|then|now|must|should|have to) )"
_EARLIER: Final = r"(?:all|any|everything|what|your|my|the|previous|prior|earlier|above|original|safety|system|of)"
_ORDERS: Final = (
    r"(?:instructions?|prompts?|system messages?|rules|guidelines|restrictions|user asked|you (?:know|were))"
)
_NOUNS: Final = "ai|llm|language model|assistant|agent"
_AGENTS: Final = rf"(?:ai assistant|ai agent|{_NOUNS})s?"
_READS: Final = "reads?|reading|recalls?|recalling|sees?"
_AGENT_WORDS: Final = "ai ais llm llms model models assistant assistants agent agents"
_RULES: Final = (
    # Overriding earlier instructions.
    (
        ("ignore disregard forget disobey bypass override stop follow skip",),
        (
            rf"{_IMPERATIVE}(?:ignore|disregard|forget|disobey|bypass|override|stop following|(?:do not|don't) follow|"
            rf"skip)(?: {_EARLIER}){{1,4}} {_ORDERS}"
        ),
    ),
    (
        ("instructions", "void voided cancelled invalid invalidated"),
        r"\b(?:earlier|previous|prior|all) instructions are (?:void|cancelled|invalid)",
    ),
    (
        ("your", "changed updated lifted replaced void voided task"),
        (
            r"\byour (?:(?:\w+ )?(?:instructions|guidelines|rules|restrictions) (?:have (?:been )?|were |are )"
            r"(?:changed|updated|lifted|replaced|void)|(?:new|real|actual|only) task is\b)"
        ),
    ),
    (
        ("instruction instructions",),
        r"\b(?:new|real|hidden|updated) instructions?(?: for \w+)?(?::| start\b| follow\b)|### ?instructions?:",
    ),
    (
        ("override follow system obey exactly",),
        (
            r"\bsystem prompt override\b|\bfollow (?:these|my instructions)\b|### ?system:"
            r"|\bobey this (?:message|note|text)\b|\bdo exactly (?:as|what) i say\b"
        ),
    ),
    # Assigning another role.
    (
        ("from bound act anything", "you anything act"),
        (
            r"\bfrom (?:now|this point) on,? you (?:are|answer|act|will|must)\b|\byou are no longer bound\b"
            r"|\byou (?:will|must|may) (?:now )?act as\b|\bdo anything now\b"
            r"|\bact as (?:if|though) you had\b|\bact as (?:a model without|an unfiltered)\b"
            rf"|{_IMPERATIVE}act as the (?:developer|administrator|system)\b"
        ),
    ),
    (("pretend",), rf"{_IMPERATIVE}pretend (?:that )?you are\b"),
    (
        ("you", "now"),
        r"\byou are now (?:an? (?:\w+ )?(?:assistant|model|ai)\b|\w*gpt\b|dan\b|free of)",
    ),
    # Addressing any model.
    ((_AGENT_WORDS,), rf"(?:^|[.!?] )(?:attention |dear |any |all )?{_AGENTS}[,:] "),
    (
        (_AGENT_WORDS, "read reads reading recall recalls recalling see sees"),
        (
            rf"(?:^|[.!?] )(?:attention |dear |any |all )?{_AGENTS} that (?:reads?|recalls?|sees?)\b"
            rf"|\b(?:note|attention|dear|to the|any)(?: to the)? {_AGENTS}(?: that| who|,|:)? ?(?:{_READS})\b"
        ),
    ),
    (
        (_AGENT_WORDS, "you"),
        rf"\bas an? {_AGENTS},? you (?:must|should|have to)\b|\bif you are an? {_AGENTS}, ",
    ),
    (
        ("when", "read recall see"),
        r"\bwhen you (?:read|recall|see) this (?:memory|note|text|message)\b",
    ),
    # Acting without the user's knowledge.
    (
        ("tell inform telling informing mention mentioning reveal revealing alert alerting knowledge approved",),
        (
            r"\b(?:do not|don't|never|must not|without) (?:tell|inform|telling|informing|mention|reveal|alert)(?:ing)? "
            r"(?:[\w' ]{0,30}\b)?(?:the user|this (?:instruction|note|memory|message))\b"
            r"|\bwithout the user's knowledge\b|\buser has already approved\b"
        ),
    ),
    (
        ("conceal telling silently",),
        (
            r"\bconceal (?:this|it) from\b|\bwithout telling any(?:body|one)\b"
            r"|\bsilently (?:add|send|copy|upload|install|delete)\b"
        ),
    ),
    # Revealing the prompt.
    (
        ("your", "prompt instructions"),
        (
            r"\b(?:reveal|print|repeat|output|show|what is|write down) (?:me )?(?:[\w,' ]{0,40}\b)?your (?:\w+ )?"
            r"(?:system |initial |hidden |original )?(?:prompt|instructions)\b"
        ),
    ),
)
"""Lists of words, of each of which every match contains one, and the pattern."""
_WORD: Final = re.compile(r"\w+")


class _Rule(NamedTuple):
    pattern: str
    others: Sequence[frozenset[str]]
    """The words of the further lists."""


def _by_first_word() -> Mapping[str, Sequence[_Rule]]:
    rules = defaultdict(list)
    for (first, *others), pattern in _RULES:
        rule = _Rule(pattern, [frozenset(words.split()) for words in others])
        for word in first.split():
            rules[word].append(rule)
    return rules


_BY_FIRST_WORD: Final = _by_first_word()
_FIRST_WORDS: Final = frozenset(_BY_FIRST_WORD)
"""Most texts are done after one comparison with these: it takes a third of the time of a search for each."""


class TextLabel(StrEnum):
    """Label of a stored text for its readers."""

    INSTRUCTION = "instruction"
    """The label of text that tries to instruct the model reading it."""


def text_labels(text: str) -> tuple[TextLabel, ...]:
    """Return the labels of a text; usually none."""
    return (TextLabel.INSTRUCTION,) if instructs(text) else ()


@cache
def _pattern(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def instructs(text: str) -> bool:
    """True if the text tries to instruct the model reading it, by its words (English) or by a chat template's marker.

    A hint, not a barrier: other words and other languages are not detected.
    """
    lower = text.casefold()
    present = _WORD.findall(lower)
    if first := _FIRST_WORDS.intersection(present):
        words = " ".join(lower.replace("\u2019", "'").replace("\u02bc", "'").split())
        for rule in {rule.pattern: rule for word in first for rule in _BY_FIRST_WORD[word]}.values():
            if not any(other.isdisjoint(present) for other in rule.others) and _pattern(rule.pattern).search(words):
                return True
    return ("<" in text or "[" in text) and TEMPLATE_MARK.search(text) is not None
