"""Suggestions for a mistyped command, which never include one that ends or destroys something."""

from collections.abc import Collection
from difflib import get_close_matches
from typing import Any

from typer.core import TyperGroup

NEVER_SUGGESTED = frozenset(
    "bury cancel delete disable discard drop erase forget remove restored revoke rotate stop switch".split()
)
"""Commands that end something: a user must type them on purpose."""
_MEANT = {
    "add": "remember",
    "find": "recall",
    "get": "show",
    "ls": "list",
    "query": "recall",
    "save": "remember",
    "serve": "up",
    "start": "up",
    "store": "remember",
}
"""Words of other tools -> our command for it."""


def suggestions(typed: str, commands: Collection[str]) -> list[str]:
    """Similar commands, best first."""
    harmless = [name for name in commands if name not in NEVER_SUGGESTED]
    meant = _MEANT.get(typed.lower())
    return [meant] if meant in harmless else get_close_matches(typed, harmless)


class SuggestingGroup(TyperGroup):
    """A group of commands that suggests only harmless ones."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**{**attributes, "suggest_commands": False})

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command, or fail with suggestions."""
        if args and not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
            near = suggestions(args[0], self.commands)
            meant = f" Did you mean {', '.join(map(repr, near))}?" if near else ""
            ctx.fail(f"No such command {args[0]!r}.{meant}")
        return super().resolve_command(ctx, args)
