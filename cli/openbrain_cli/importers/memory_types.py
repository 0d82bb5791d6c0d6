"""Guesses the type of a memory from words in its title."""

import re

from openbrain.domain.memory import MemoryType, Scope

_BY_WORD = (
    (MemoryType.ARCHITECTURE, ("architecture", "infrastructure", "layout", "structure", "stack", "module")),
    (MemoryType.CONVENTION, ("convention", "style", "standard", "naming", "rule", "guideline", "do not", "don't")),
    (MemoryType.DECISION, ("decision", "decided", "chose", "trade-off", "tradeoff", "why we", "approach")),
    (MemoryType.BUG, ("bug", "fix", "issue", "error", "gotcha", "pitfall", "workaround", "known problem")),
    (MemoryType.PLAN, ("plan", "todo", "to do", "roadmap", "next step", "milestone", "phase")),
    (MemoryType.RESEARCH, ("research", "finding", "investigat", "analysis", "comparison", "rfc")),
)
_PROCEDURE = ("command", "build", "test", "deploy", "release", "setup", "set up", "install", "how to", "run")
_DECIDED = ("decision", "decided", "chose", "agreed")


def by_words(title: str, otherwise: MemoryType) -> MemoryType:
    """The type for a heading or a file's name."""
    return next((kind for kind, words in _BY_WORD if _has(title, words)), otherwise)


def of_instruction(heading: str) -> MemoryType:
    """The type of an instruction: a convention, unless its heading suggests another."""
    return MemoryType.PROCEDURE if _has(heading, _PROCEDURE) else by_words(heading, MemoryType.CONVENTION)


def of_topic(declared: str, name: str, description: str) -> MemoryType:
    """The type from a topic file's frontmatter, else from its name and description."""
    match declared.strip().lower():
        case "feedback":
            return MemoryType.CONVENTION
        case "user":
            return MemoryType.FACT
        case "reference":
            return MemoryType.DOCUMENTATION
        case "project":
            return MemoryType.DECISION if _has(f"{name} {description}", _DECIDED) else MemoryType.CONTEXT
    return declared_type(declared) or by_words(f"{name} {description}", MemoryType.OBSERVATION)


def declared_type(declared: str) -> MemoryType | None:
    word = declared.strip().lower()
    return MemoryType(word) if word in set(MemoryType) else None


def scope_of(declared: str, project: str) -> Scope:
    """The scope of a memory: shared for facts about the user and for memories without a project, else the project."""
    if declared.strip().lower() == "user" or not project:
        return Scope.SHARED
    return Scope.PROJECT


def _has(title: str, words: tuple[str, ...]) -> bool:
    """True if a word of the title begins with one of these words."""
    return re.search(rf"\b(?:{'|'.join(words)})", title, re.IGNORECASE) is not None
