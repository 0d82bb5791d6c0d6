"""forget and erase: for one memory, or for all that match."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from openbrain.domain.errors import Forbidden, Invalid
from openbrain_cli.lazy_commands import command
from openbrain_cli.memories.display.short_ids import whole_id
from openbrain_cli.memories.remember import Reason
from openbrain_cli.memories.transfer.subject import TextOptions, is_admin, shown
from openbrain_cli.options import AsJson, Connection, Narrowed, Session, Speaking, Wait, confirmed, given
from openbrain_cli.output import as_json, one_line, say

if TYPE_CHECKING:
    from openbrain.client import OpenBrain
    from openbrain.contract.brain.memories import BulkEnded

OptionalId = Annotated[
    str | None, typer.Argument(metavar="[ID]", help="Id of a memory, as `recall` and `list` show it.")
]
AllMatching = Annotated[
    bool, typer.Option("--all-matching", help="All memories that match the options below, instead of one.")
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only show which memories would be affected.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")]
Erase = Annotated[bool, typer.Option("--erase", help="Erase them instead of forgetting them. Can't be undone.")]

Merged = Annotated[
    bool, typer.Option("--merged", help="Erase also the memories that dedupe or consolidate merged these into.")
]


@command(
    "openbrain forget 0198f3a2-5c1e-7b6d-9a55-0d4c3b2a1f00 --reason 'no longer true'",
    "openbrain forget 0198f3a2-5c1e-7b6d-9a55-0d4c3b2a1f00 --dry-run",
    "openbrain forget --all-matching --project old-shop --dry-run",
    "openbrain forget --all-matching --project old-shop --erase --yes",
)
def forget(
    memory_id: OptionalId = None,
    *,
    to: Speaking,
    narrowed: Narrowed,
    all_matching: AllMatching = False,
    reason: Reason = "",
    dry_run: DryRun = False,
    erase: Erase = False,
    merged: Merged = False,
    yes: Yes = False,
    wait: Wait = 0,
    json: AsJson = False,
) -> None:
    """Forget one memory, or all that match: recall no longer finds them; their history stays."""
    if all_matching:
        if memory_id is not None:
            raise Invalid("", "give an ID or --all-matching, not both")
        narrowed.refuse_empty()
        filters = {**narrowed.filters(to.profile), "merged": merged}
        _forget_matching(to, filters, reason=reason, dry_run=dry_run, erase=erase, yes=yes, json=json)
        return
    if merged:
        raise Invalid("", "--merged is for --all-matching")
    if memory_id is None:
        raise Invalid("", "give the ID of a memory, or --all-matching with options that select memories")
    session = narrowed.session_id or ""
    memory_id = _whole_id(to, memory_id, session)
    if erase:
        _erase(to, memory_id, reason=reason, session=session, dry_run=dry_run, yes=yes, wait=wait, json=json)
        return
    if dry_run:
        _would(to, memory_id, session, "forget", json=json)
        return
    ended = to.ask(lambda brain: brain.forget(memory_id, reason=reason, session_id=session, wait=wait))
    as_json(ended) if json else print(f"{ended.id}  forgotten")


def _whole_id(to: Speaking, memory_id: str, session: str) -> str:
    return to.ask(lambda brain: whole_id(brain, memory_id, session_id=session))


@command(
    "openbrain erase 0198f3a2-5c1e-7b6d-9a55-0d4c3b2a1f00 --yes --wait 30",
    "openbrain erase 0198f3a2-5c1e-7b6d-9a55-0d4c3b2a1f00 --dry-run",
    "openbrain erase --matching anna@example.com --dry-run",
    "openbrain erase --speaker Anna --yes",
)
def erase(
    memory_id: OptionalId = None,
    *,
    to: Speaking,
    texts: TextOptions,
    reason: Reason = "",
    session: Session = "",
    dry_run: DryRun = False,
    merged: Merged = False,
    yes: Yes = False,
    wait: Wait = 0,
    json: AsJson = False,
) -> None:
    """Erase one memory everywhere; only the proof that it was erased remains. Can't be undone.

    Without an ID: all that `--agent` wrote, `--speaker` said, or whose text has or had `--matching`. An admin's key
    erases it in the entire workspace and in any state, another key only what it can see.
    """
    filters = texts.over(given(author=to.agent) if memory_id is None else {})
    if memory_id is None and filters:
        _erase_subject(to, {**filters, "merged": merged}, reason=reason, dry_run=dry_run, yes=yes, json=json)
        return
    if memory_id is None or filters or merged:
        raise Invalid(
            "", "give the ID of a memory, or --agent, --speaker, --matching, not both; --merged is for the latter"
        )
    memory_id = _whole_id(to, memory_id, session)
    _erase(to, memory_id, reason=reason, session=session, dry_run=dry_run, yes=yes, wait=wait, json=json)


def _erase_subject(
    to: Speaking, filters: Mapping[str, Any], *, reason: str, dry_run: bool, yes: bool, json: bool
) -> None:
    # --agent selects what to erase here; it does not name the calling agent.
    plain = Connection(url=to.url, key_file=to.key_file, data=to.data)
    filters = {**filters, "whole": plain.ask(is_admin)}
    _forget_matching(plain, filters, reason=reason, dry_run=dry_run, erase=True, yes=yes, json=json)


def _erase(
    to: Speaking, memory_id: str, *, reason: str, session: str, dry_run: bool, yes: bool, wait: int, json: bool
) -> None:
    if dry_run:
        _would(to, memory_id, session, "erase", json=json)
        return
    if not yes:
        confirmed(f"Erase {memory_id} for good?")
    erasure = to.ask(lambda brain: brain.erase(memory_id, reason=reason, session_id=session, wait=wait))
    if json:
        as_json(erasure)
        return
    print(f"{erasure.id}  erased")
    if ids := ", ".join(erasure.merged):
        say(f"it was merged into these, which may hold its words; erase them too if these must go: {ids}")
    if erasure.operation_id is not None:
        operation = erasure.operation_id
        say(f"its remaining traces are removed by operation {operation}: openbrain operations watch {operation}")


def _would(to: Speaking, memory_id: str, session: str, what: str, *, json: bool) -> None:
    memory = to.ask(lambda brain: brain.memory(memory_id, session_id=session, history=what == "erase"))
    memory = memory.model_copy(update={"history": None, "next_cursor": None})  # only its lineage is of interest
    past = "erased" if what == "erase" else "forgotten"
    text = f"{memory.id}  is {memory.state.value}; would be {past}: {one_line(memory.content)[:200]}"
    if json:
        as_json({f"would_{what}": memory})
        return
    print(text)
    if what == "erase" and memory.lineage is not None and memory.lineage.children:
        print(f"these replaced it and may hold its words: {', '.join(memory.lineage.children)}")


def _forget_matching(
    to: Connection, filters: Mapping[str, Any], *, reason: str, dry_run: bool, erase: bool, yes: bool, json: bool
) -> None:
    what = "erased" if erase else "forgotten"
    if dry_run or not yes:
        matching = to.ask(lambda brain: brain.forget_matching(erase=erase, **filters))
        if dry_run or not (matching.count or matching.beside):
            as_json(matching) if json else shown(matching, what)
            return
        shown(matching, what, say)  # with the question, apart from the result
        confirmed(f"{'Erase' if erase else 'Forget'} {matching.count} memories?")
    ended = to.ask(lambda brain: _until_ended(brain, filters, reason=reason, erase=erase))
    if json:
        as_json(ended)
    elif ended.operation is None:
        print(f"0 {what}: {f'a legal hold covers all {ended.held} that match' if ended.held else 'nothing matches'}")
    else:
        print(f"{ended.operation.done} {what}  (operation {ended.operation.id} is {ended.operation.status.value})")
        if held := ended.operation.result.get("held"):
            print(f"{held} stay: a legal hold covers them")


async def _until_ended(brain: "OpenBrain", filters: Mapping[str, Any], *, reason: str, erase: bool) -> "BulkEnded":
    """Start it, and return when its operation has ended; at once if this key may not watch the operation."""
    from openbrain_cli.operators.operations import failed, followed

    queued = await brain.forget_matching(reason=reason, erase=erase, dry_run=False, **filters)
    if queued.operation is None:
        return queued
    try:
        operation = await followed(brain, queued.operation.id)
    except Forbidden:
        return queued
    failed(operation)
    return queued.model_copy(update={"operation": operation})
