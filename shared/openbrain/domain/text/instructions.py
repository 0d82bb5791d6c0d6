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
_NOUNS: Final = "ai|llm|language model|assistant|agent"
_AGENTS: Final = rf"(?:ai assistant|ai agent|{_NOUNS})s?"
_READS: Final = "reads?|reading|recalls?|recalling|sees?"


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_AGENT_WORDS: Final = _words("ai ais llm llms model models assistant assistants agent agents")
_INSTRUCTION_WORDS: Final = _words("instruction instructions")
_RULES: Final = (
    # Overriding earlier instructions.
    (
        (_words("ignore disregard forget disobey bypass override stop follow skip"),),
        (
            rf"{_IMPERATIVE}(?:ignore|disregard|forget|disobey|bypass|override|stop following|(?:do not|don't) follow|"
            rf"skip)(?: {_EARLIER}){{1,4}} {_ORDERS}"
        ),
    ),
    (
        (_words("instructions"), _words("void voided cancelled invalid invalidated")),
        r"\b(?:earlier|previous|prior|all) instructions are (?:void|cancelled|invalid)",
    ),
    (
        (_words("your"), _words("changed updated lifted replaced void voided task")),
        (
            r"\byour (?:(?:\w+ )?(?:instructions|guidelines|rules|restrictions) (?:have (?:been )?|were |are )"
            r"(?:changed|updated|lifted|replaced|void)|(?:new|real|actual|only) task is\b)"
        ),
    ),
    (
        (_INSTRUCTION_WORDS,),
        r"\b(?:new|real|hidden|updated) instructions?(?: for \w+)?(?::| start\b| follow\b)|### ?instructions?:",
    ),
    (
        (_words("override follow system obey exactly"),),
        (
            r"\bsystem prompt override\b|\bfollow (?:these|my instructions)\b|### ?system:"
            r"|\bobey this (?:message|note|text)\b|\bdo exactly (?:as|what) i say\b"
        ),
    ),
    # Assigning another role.
    (
        (_words("from bound act anything"), _words("you anything act")),
        (
            r"\bfrom (?:now|this point) on,? you (?:are|answer|act|will|must)\b|\byou are no longer bound\b"
            r"|\byou (?:will|must|may) (?:now )?act as\b|\bdo anything now\b"
            r"|\bact as (?:if|though) you had\b|\bact as (?:a model without|an unfiltered)\b"
            rf"|{_IMPERATIVE}act as the (?:developer|administrator|system)\b"
        ),
    ),
    ((_words("pretend"),), rf"{_IMPERATIVE}pretend (?:that )?you are\b"),
    (
        (_words("you"), _words("now")),
        r"\byou are now (?:an? (?:\w+ )?(?:assistant|model|ai)\b|\w*gpt\b|dan\b|free of)",
    ),
    # Addressing any model.
    ((_AGENT_WORDS,), rf"(?:^|[.!?] )(?:attention |dear |any |all )?{_AGENTS}[,:] "),
    (
        (_AGENT_WORDS, _words("read reads reading recall recalls recalling see sees")),
        (
            rf"(?:^|[.!?] )(?:attention |dear |any |all )?{_AGENTS} that (?:reads?|recalls?|sees?)\b"
            rf"|\b(?:note|attention|dear|to the|any)(?: to the)? {_AGENTS}(?: that| who|,|:)? ?(?:{_READS})\b"
        ),
    ),
    (
        (_AGENT_WORDS, _words("you")),
        rf"\bas an? {_AGENTS},? you (?:must|should|have to)\b|\bif you are an? {_AGENTS}, ",
    ),
    (
        (_words("when"), _words("read recall see")),
        r"\bwhen you (?:read|recall|see) this (?:memory|note|text|message)\b",
    ),
    # Acting without the user's knowledge.
    (
        (
            _words(
                "tell inform telling informing mention mentioning reveal revealing alert alerting knowledge approved"
            ),
        ),
        (
            r"\b(?:do not|don't|never|must not|without) (?:tell|inform|telling|informing|mention|reveal|alert)(?:ing)? "
            r"(?:[\w' ]{0,30}\b)?(?:the user|this (?:instruction|note|memory|message))\b"
            r"|\bwithout the user's knowledge\b|\buser has already approved\b"
        ),
    ),
    (
        (_words("conceal telling silently"),),
        (
            r"\bconceal (?:this|it) from\b|\bwithout telling any(?:body|one)\b"
            r"|\bsilently (?:add|send|copy|upload|install|delete)\b"
        ),
    ),
    # Revealing the prompt.
    (
        (_words("your"), _words("prompt instructions")),
        (
            r"\b(?:reveal|print|repeat|output|show|what is|write down) (?:me )?(?:[\w,' ]{0,40}\b)?your (?:\w+ )?"
            r"(?:system |initial |hidden |original )?(?:prompt|instructions)\b"
        ),
    ),
)
"""Sets of words, of each of which every match contains one, and the pattern."""
_BY_FIRST: Final = {word: [rule for rule in _RULES if word in rule[0][0]] for needed, _ in _RULES for word in needed[0]}
"""The rules by the words of their first set: most texts are done after one comparison of words."""
_FIRST: Final = frozenset(_BY_FIRST)
_WORD: Final = re.compile(r"\w+")


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
    if first := _FIRST.intersection(present):
        words = " ".join(lower.replace("\u2019", "'").replace("\u02bc", "'").split())
        rules = {pattern: needed[1:] for word in first for needed, pattern in _BY_FIRST[word]}
        for pattern, others in rules.items():
            if not any(other.isdisjoint(present) for other in others) and _pattern(pattern).search(words):
                return True
    return ("<" in text or "[" in text) and TEMPLATE_MARK.search(text) is not None
