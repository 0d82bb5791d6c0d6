"""Keywords that raise the scores of memories that contain them."""

from openbrain.domain.memory import Memory
from openbrain.domain.text.words import spoken_text
from openbrain_api.recall.question import LISTED_BOOST, Question


def boosted(score: float, memory: Memory, question: Question) -> float:
    """The score raised by both kinds of keywords; never lower than before."""
    haystack = _haystack(memory)
    if question.keywords:
        present = sum(word.casefold() in haystack for word in question.keywords)
        score += question.boost * present / len(question.keywords)
    if any(word.casefold() in haystack for word in question.boost_words):
        score *= LISTED_BOOST
    return score


def _haystack(memory: Memory) -> str:
    return "\n".join((spoken_text(memory), memory.type, memory.project, memory.source, memory.org)).casefold()
