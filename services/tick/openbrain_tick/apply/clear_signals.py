"""Signals that a model cleared in pages end in the database too, and leave the feed."""

from collections.abc import Mapping
from contextlib import suppress

from openbrain.domain.access.visibility import Viewer
from openbrain.domain.errors import Conflict, NotFound
from openbrain.domain.signals.values import Step
from openbrain.ports.store.signals import SignalChange, Signals
from openbrain.ports.store.store import Store
from openbrain_tick.apply.plan_and_write import plan_and_write
from openbrain_tick.observe.signals import ACTOR, standing_alarm
from openbrain_tick.plan.deterministic import World
from openbrain_tick.plan.feed.feed_files import alarmed
from openbrain_tick.plan.reasoning.apply_answer import AppliedAnswer
from openbrain_tick.vaults import Vault


async def clear_signals(made: AppliedAnswer, vault: Vault, store: Store, now_us: int, world: World) -> None:
    """Signals that the model cleared in pages end in the store too, and leave the feed."""
    notes = {
        world.rows[name]: change.reason or "cleared by the tick"
        for place, change in made.accepted.signals.items()
        if place in made.outcome.done and change.op == "clear" and (name := change.signal or "") in world.rows
    }
    if await resolve_signals(notes, vault.workspace_id, store.signals):
        alarm = await standing_alarm(vault.workspace_id, store.signals)
        await plan_and_write(vault, store.leases, now_us, lambda plan: alarmed(plan, alarm))


async def resolve_signals(notes: Mapping[str, str], workspace_id: str, signals: Signals) -> int:
    """End signals of the store, by id, each with why; how many those were. One that ended meanwhile is none."""
    count = 0
    viewer = Viewer(workspace_id=workspace_id, agent_id="")
    for signal_id, note in notes.items():
        with suppress(NotFound, Conflict):
            await signals.change_signal(
                SignalChange(
                    workspace_id=workspace_id,
                    step=Step.RESOLVED,
                    viewer=viewer,
                    actor=ACTOR,
                    signal_id=signal_id,
                    note=note,
                )
            )
            count += 1
    return count
