"""Operation `forget`: forget or erase all memories that a filter matches and the requester may see, except those under
a legal hold."""

import re

from openbrain.domain.text.spelling import spellings
from openbrain.ports.cleaning import ERASED, CleanText, Party
from openbrain.ports.clock import Clock
from openbrain.ports.store.operations import TRACES, Operation, Progress
from openbrain.ports.store.store import Store
from openbrain.ports.store.writes import Bulk, Origin
from openbrain.usecases import stored_criteria
from openbrain_housekeeper.handlers.lifecycle.job import overtaken
from openbrain_housekeeper.handlers.purge import purge_after

CHUNK = 200
"""Memories per transaction."""
REACHED = "reached"
"""Key in the result: creation time of the last memory ended so far. The next step starts there instead of at the newest
memory."""
HELD = "held"
"""Key in the result: the number of matches that a legal hold keeps."""
TO_STRIKE_OUT = "to_strike_out"
"""Key in the result: the number of texts beside memories that the next step strikes out."""


class Forgetting:
    """One transaction per step. A repeated step continues where it was: ended memories no longer match."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store, self._clock = store, clock

    async def __call__(self, operation: Operation) -> Progress:
        """Forget a chunk. The final `done` is the total, including what a killed worker ended but did not record."""
        request = operation.request
        erase = bool(request["erase"])
        # The filter itself may quote text that must not stay, so that it is kept apart.
        stored = request.get(TRACES, request)
        reached = operation.result.get(REACHED)
        made_by = int(request["made_by"] if reached is None else reached)
        condition, whole = stored_criteria.condition(stored, self._clock.now()), bool(stored.get(stored_criteria.WHOLE))
        merged = stored_criteria.all_seen(stored) if erase and request.get("merged") else None
        bulk = Bulk(condition=condition, made_by=made_by, ended=whole, merged=merged)
        origin = Origin(actor=operation.actor)
        ended = await self._store.writes.end_living(bulk, CHUNK, origin, str(request["reason"]), erase=erase)
        done = operation.done + ended.rows
        total = max(operation.total or 0, done)
        past = "erased" if erase else "forgotten"
        if ended.rows:
            return Progress(done=done, total=total, result={past: done, REACHED: ended.reached})
        if reached is not None:
            # Start again from the newest: a memory may match only since a recent change.
            return Progress(done=done, total=total, result={past: done})
        result = {past: total}
        if held := (await self._store.writes.measure_living(condition, ended=whole)).held:
            result[HELD] = held
        if erase:
            if party := stored_criteria.erased_party(stored):
                counted = operation.result.get(TO_STRIKE_OUT)
                if counted is None:
                    # Whoever repeats the next step after a kill finds nothing left to count.
                    counted = await self._store.cleansing.count_beside(operation.workspace_id, party)
                    return Progress(done=done, total=total, result={past: done, TO_STRIKE_OUT: counted})
                clean, others = _struck_out(party), self._store.cleansing.clean_others
                struck_out = await others(operation, clean, dry_run=False, party=party)
                result["beside"] = max(int(counted), struck_out)
                if not await self._store.operations.runs(operation):
                    return overtaken(operation)
            # Database files hold the filter too: the purge cleans them after this operation has ended.
            await self._store.operations.start_operation(purge_after(operation))
        return Progress(done=total, total=total, result=result, finished=True)


def _struck_out(party: Party) -> CleanText:
    """Replace the whole text if it belongs to an erased agent or speaker; otherwise only the erased words in it."""
    if party.agents or party.speakers:
        return lambda _: ERASED
    said = spellings(party.says)
    pattern = re.compile("|".join(map(re.escape, said)), re.IGNORECASE)

    def strike(text: str) -> str:
        left = pattern.sub(ERASED, text)
        # A lower \u0130 has two characters, which no pattern takes for one: then nothing of the text stays.
        return ERASED if any(words.lower() in left.lower() for words in said) else left

    return strike
