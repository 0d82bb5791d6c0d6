"""Selection of everything about an agent or person, shared by export and erasure, and its preview."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from openbrain_cli.options import Connection, given, refuse_empty
from openbrain_cli.output import as_json

if TYPE_CHECKING:
    from openbrain.client import OpenBrain
    from openbrain.contract.brain.memories import BulkEnded

DryRun = Annotated[bool, typer.Option("--dry-run", help="Only show how many memories match.")]
Agents = Annotated[list[str] | None, typer.Option("--agent", help="All that this agent wrote; repeatable.")]
Speakers = Annotated[list[str] | None, typer.Option("--speaker", help="All that this person said; repeatable.")]
Matching = Annotated[
    str | None, typer.Option("--matching", metavar="TEXT", help="All that contains this text anywhere, or once did.")
]


@dataclass(frozen=True, slots=True, kw_only=True)
class TextOptions:
    """Options `--speaker` and `--matching`."""

    speaker: Speakers = None
    matching: Matching = None

    def over(self, filters: Mapping[str, Any]) -> dict[str, Any]:
        refuse_empty(matching=self.matching)
        return {**filters, **given(speaker=self.speaker, matching=self.matching)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject(TextOptions):
    """`TextOptions` and `--agent`."""

    agent: Agents = None

    def over(self, filters: Mapping[str, Any]) -> dict[str, Any]:
        return {
            **TextOptions.over(self, filters),
            **given(author=[*(filters.get("author") or ()), *(self.agent or ())]),
        }


async def is_admin(brain: "OpenBrain") -> bool:
    """True if the key may see the entire workspace."""
    return "admin" in (await brain.whoami()).permissions


def preview(to: Connection, filters: Mapping[str, Any], what: str, *, json: bool) -> None:
    """Show the number of matching memories, and the first of them. A legal hold doesn't keep them from being read."""

    async def work(brain: "OpenBrain") -> "BulkEnded":
        matching = await brain.forget_matching(whole=await is_admin(brain), **filters)
        return matching.model_copy(update={"count": matching.count + matching.held, "held": 0})

    matching = to.ask(work)
    as_json(matching) if json else shown(matching, what)


def shown(matching: "BulkEnded", what: str, tell: Callable[[str], None] = print) -> None:
    tell(f"{matching.count} would be {what}")
    if matching.beside:
        tell(f"and {matching.beside} messages, questions and signals")
    if matching.held:
        tell(f"{matching.held} more match, but stay: a legal hold covers them")
    _listed(matching.sample, matching.count, tell)
    if matching.merged:
        tell(
            f"{matching.merged} more, which some of them were merged into, may hold their words; --merged erases them:"
        )
        _listed(matching.merged_sample, matching.merged, tell)


def _listed(sample: Sequence[str], count: int, tell: Callable[[str], None]) -> None:
    for item in sample:
        tell(f"  {item}")
    if count > len(sample):
        tell("  ...")
