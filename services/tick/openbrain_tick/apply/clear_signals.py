"""Resolves signals in the database that a model cleared in pages, and updates the alarm in the feed."""

from contextlib import suppress

from openbrain.domain.access.visibility import Viewer
from openbrain.domain.errors import Conflict, NotFound
from openbrain.domain.signals.values import Step
from openbrain.ports.store.signals import SignalChange
from openbrain.ports.store.store import Store
from openbrain_tick.apply.plan_and_write import plan_and_write
from openbrain_tick.observe.signals import ACTOR, ALARMS, alarm_of
from openbrain_tick.plan.deterministic import World
from openbrain_tick.plan.feed.feed_files import alarmed
from openbrain_tick.plan.reasoning.apply_answer import AppliedAnswer
from openbrain_tick.vaults import Vault


async def clear_signals(made: AppliedAnswer, vault: Vault, store: Store, now_us: int, world: World) -> None:
    """Resolve signals in the database that the model cleared in pages, and update the alarm in the feed."""
    notes = {
        world.rows[name]: change.reason or "cleared by the tick"
        for place, change in made.accepted.signals.items()
        if place in made.outcome.done and change.op == "clear" and (name := change.signal or "") in world.rows
    }
    cleared, viewer = False, Viewer(workspace_id=vault.workspace_id, agent_id="")
    for signal_id, note in notes.items():
        change = SignalChange(
            workspace_id=vault.workspace_id,
            step=Step.RESOLVED,
            viewer=viewer,
            actor=ACTOR,
            signal_id=signal_id,
            note=note,
        )
        with suppress(NotFound, Conflict):  # it ended meanwhile
            await store.signals.change_signal(change)
            cleared = True
    if cleared:
        alarm = alarm_of(await store.signals.present(viewer, ALARMS))
        await plan_and_write(vault, store.leases, now_us, lambda plan: alarmed(plan, alarm))
