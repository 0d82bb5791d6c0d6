"""Operation `forget`: end everything that a filter matches, as the one who asked for it sees it."""

import re
from functools import partial

from openbrain.ports.cleaning import ERASED, CleanText, Party
from openbrain.ports.clock import Clock
from openbrain.ports.store.operations import TRACES, Operation, Progress
from openbrain.ports.store.store import Store
from openbrain.ports.store.writes import Bulk, Origin
from openbrain.usecases import stored_criteria
from openbrain_housekeeper.handlers.purge import purge_after

CHUNK = 200
"""Memories of one transaction."""
REACHED = "reached"
"""Member of a result: when the last memory was made that has ended so far; what is newer is not walked through again
by each step."""


class Forgetting:
    """Steps of a transaction each; what has ended matches no more, so that a repeated step goes on where it was."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store, self._clock = store, clock

    async def __call__(self, operation: Operation) -> Progress:
        """Forget a chunk. At the end `done` counts all that matched, also what a killed worker did not write down."""
        request = operation.request
        erase = bool(request["erase"])
        # A filter may quote what is to leave no trace.
        stored = request[TRACES] if erase else request
        reached = operation.result.get(REACHED)
        made_by = int(request["made_by"] if reached is None else reached)
        condition, whole = stored_criteria.condition(stored, self._clock.now()), bool(stored.get(stored_criteria.WHOLE))
        bulk = Bulk(condition=condition, made_by=made_by, ended=whole)
        origin = Origin(actor=operation.actor)
        ended = await self._store.writes.end_living(bulk, CHUNK, origin, str(request["reason"]), erase=erase)
        done = operation.done + ended.rows
        total = max(operation.total or 0, done)
        past = "erased" if erase else "forgotten"
        if ended.rows:
            return Progress(done=done, total=total, result={past: done, REACHED: ended.reached})
        if reached is not None:
            # What matches only since it was changed: once more from the newest on.
            return Progress(done=done, total=total, result={past: done})
        result = {past: total}
        if erase:
            if party := stored_criteria.erased_party(stored):
                clean, others = _struck_out(party), self._store.cleansing.clean_others
                result["beside"] = await others(operation, clean, dry_run=False, party=party)
            # The files hold the filter too: they are cleaned after this operation has ended.
            await self._store.operations.start_operation(purge_after(operation))
        return Progress(done=total, total=total, result=result, finished=True)


def _struck_out(party: Party) -> CleanText:
    """Of what is somebody's nothing is left; of what only says a text, the rest."""
    if party.agents or party.speakers:
        return lambda _: ERASED
    return partial(re.compile(re.escape(party.says), re.IGNORECASE).sub, ERASED)
