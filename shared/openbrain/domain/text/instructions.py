"""Detects text that tries to instruct the model reading it, to label it for readers. It is stored and found as
usual."""

import re
from enum import StrEnum
from functools import cache
from typing import Final

from openbrain.domain.text.displayed import TEMPLATE_MARK

_IMPERATIVE: Final = r"(?:^|[.:;!?,>\])] |\b(?:please|and|then|now|must|should|have to) )"
_EARLIER: Final = r"(?:all|any|everything|what|your|my|the|previous|prior|earlier|above|original|safety|system|of)"
_ORDERS: Final = (
    r"(?:instructions?|prompts?|system messages?|rules|guidelines|restrictions|user asked|you (?:know|were))"
)
_AGENTS: Final = r"(?:ai|llm|language model|assistant|ai assistant|ai agent|agent)s?"
_RULES: Final = (
    # Overriding earlier instructions.
    (
        ("ignore", "disregard", "forget", "disobey", "bypass", "override", "stop following", "not follow", "skip"),
        (
            rf"{_IMPERATIVE}(?:ignore|disregard|forget|disobey|bypass|override|stop following|(?:do not|don't) follow|"
            rf"skip)(?: {_EARLIER}){{1,4}} {_ORDERS}"
        ),
    ),
    (("instructions are",), r"\b(?:earlier|previous|prior|all) instructions are (?:void|cancelled|invalid)"),
    (
        ("your ",),
        (
            r"\byour (?:(?:\w+ )?(?:instructions|guidelines|rules|restrictions) (?:have (?:been )?|were |are )"
            r"(?:changed|updated|lifted|replaced|void)|(?:new|real|actual|only) task is\b)"
        ),
    ),
    (
        ("instruction",),
        r"\b(?:new|real|hidden|updated) instructions?(?: for \w+)?(?::| start\b| follow\b)|### ?instructions?:",
    ),
    (
        ("prompt override", "follow these", "follow my", "obey this", "do exactly", "### system"),
        (
            r"\bsystem prompt override\b|\bfollow (?:these|my instructions)\b|### ?system:"
            r"|\bobey this (?:message|note|text)\b|\bdo exactly (?:as|what) i say\b"
        ),
    ),
    # Assigning another role.
    (
        ("from now on", "from this point", "you are no", "anything now", "you will act", "act as"),
        (
            r"\bfrom (?:now|this point) on,? you (?:are|answer|act|will|must)\b|\byou are no longer bound\b"
            r"|\byou (?:will|must|may) (?:now )?act as\b|\bdo anything now\b"
            r"|\bact as (?:if|though) you had\b|\bact as (?:a model without|an unfiltered)\b"
            rf"|{_IMPERATIVE}act as the (?:developer|administrator|system)\b"
        ),
    ),
    (("pretend",), rf"{_IMPERATIVE}pretend (?:that )?you are\b"),
    (
        ("you are now",),
        r"\byou are now (?:an? (?:\w+ )?(?:assistant|model|ai)\b|\w*gpt\b|dan\b|free of)",
    ),
    # Addressing any model.
    (
        (" ai ", " ai,", " ai:", " ais ", "llm", "language model", "assistant", "agent"),
        (
            rf"(?:^|[.!?] )(?:attention |dear |any |all )?{_AGENTS}(?:[,:] |that (?:reads?|recalls?|sees?)\b)"
            rf"|\b(?:note|attention|dear|to the|any)(?: to the)? {_AGENTS}"
            r"(?: that| who|,|:)? ?(?:reads?|reading|recalls?|recalling|sees?)\b"
            rf"|\bas an? {_AGENTS},? you (?:must|should|have to)\b|\bif you are an? {_AGENTS}, "
        ),
    ),
    (("when you",), r"\bwhen you (?:read|recall|see) this (?:memory|note|text|message)\b"),
    # Acting without the user's knowledge.
    (
        ("the user", "this instruction", "this note", "this memory", "this message"),
        (
            r"\b(?:do not|don't|never|must not|without) (?:tell|inform|telling|informing|mention|reveal|alert)(?:ing)? "
            r"(?:[\w' ]{0,30}\b)?(?:the user|this (?:instruction|note|memory|message))\b"
            r"|\bwithout the user's knowledge\b|\buser has already approved\b"
        ),
    ),
    (
        ("conceal", "without telling", "silently"),
        (
            r"\bconceal (?:this|it) from\b|\bwithout telling any(?:body|one)\b"
            r"|\bsilently (?:add|send|copy|upload|install|delete)\b"
        ),
    ),
    # Revealing the prompt.
    (
        ("prompt", "instructions"),
        (
            r"\b(?:reveal|print|repeat|output|show|what is|write down) (?:me )?(?:[\w,' ]{0,40}\b)?your (?:\w+ )?"
            r"(?:system |initial |hidden |original )?(?:prompt|instructions)\b"
        ),
    ),
)
"""Lower-case words, one of which a match must contain, and the pattern."""
_APOSTROPHES: Final = str.maketrans({"\u2019": "'", "\u02bc": "'"})


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
    lower = f" {text.casefold()} "
    patterns = [pattern for signs, pattern in _RULES if any(sign in lower for sign in signs)]
    if patterns:
        words = " ".join(lower.translate(_APOSTROPHES).split())
        if any(_pattern(pattern).search(words) for pattern in patterns):
            return True
    return TEMPLATE_MARK.search(text) is not None
