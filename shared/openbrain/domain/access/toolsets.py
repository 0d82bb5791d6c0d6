"""MCP tools that are listed together: a list costs tokens in every session of an agent."""

from enum import StrEnum


class Toolset(StrEnum):
    """Tools that are listed together."""

    CORE = "core"
    SIGNALS = "signals"
    VAULT = "vault"
    ADMIN = "admin"
    THOUGHTS = "thoughts"


ALL = "all"


def chosen(names: str) -> frozenset[Toolset]:
    """Parse a list such as `signals,vault`; core is always included. Raise `ValueError` for an unknown toolset."""
    given = {name.strip().lower() for name in names.split(",")} - {""}
    if ALL in given:
        return frozenset(Toolset)
    return frozenset({Toolset.CORE, *map(Toolset, given)})


def choice() -> str:
    """The names to choose from, for messages."""
    return f"{', '.join(Toolset)} or {ALL}, with commas between them"
