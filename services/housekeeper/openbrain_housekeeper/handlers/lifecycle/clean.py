"""Operation `clean`: strip or normalise what is stored already: memories, their history, dead letters and the vault.

Indexes and vectors follow as after any change. Traces in streams and files are removed by purges, which this queues.
The old text is not kept, so a clean can't be undone.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from openbrain.domain.text.spelling import one_spelling
from openbrain.ports.cleaning import Cleaned, Cleansing, CleanText
from openbrain.ports.clock import Clock
from openbrain.ports.lifecycle import Action, Lifecycle, selection_of
from openbrain.ports.store.operations import Operation, Operations, Progress
from openbrain.ports.store.outbox import Outbox
from openbrain.ports.streams import Doomed, Swept
from openbrain.usecases import purge_traces
from openbrain.usecases.content.cleaning import Cleaner, Normalising, Stripping, summary, total
from openbrain_housekeeper.handlers.lifecycle.job import EXAMPLE_LIST, EXAMPLES, announce_end, overtaken
from openbrain_housekeeper.handlers.purge import purge_after

PAGE = 100
"""Memories per transaction, each with its history."""
PHASE, CURSOR, COUNTED = "phase", "cursor", "others_counted"


class Streams(Protocol):
    """The stream operation that `clean` needs."""

    async def sweep_taken(self, doomed: Doomed) -> Swept: ...


class Pages(Protocol):
    """The vault of a workspace."""

    async def clean(self, clean: CleanText, *, dry_run: bool) -> int: ...


@dataclass(frozen=True, slots=True)
class Cleaning:
    """One transaction per step. Steps are idempotent: a clean text is not changed again."""

    cleansing: Cleansing
    lifecycle: Lifecycle
    operations: Operations
    outbox: Outbox
    clock: Clock
    streams: Streams
    stripping: Callable[[Operation], Awaitable[Sequence[Stripping]]]
    """Makes the stripping rules from the operation and the workspace's rule."""
    vault: Callable[[str], Pages | None]

    async def __call__(self, operation: Operation) -> Progress:
        phases: Mapping[str, Callable[[Operation, dict[str, Any]], Awaitable[Progress]]] = {
            "memories": self._memories,
            "others": self._count_others,
            "others counted": self._others,
            "streams": self._streams,
            "vault": self._vault,
        }
        # Cleaning the vault or others can't be stopped halfway: don't begin it if the operation is to be cancelled.
        if not await self.operations.runs(operation):
            return overtaken(operation)
        result = dict(operation.result)
        return await phases[result.pop(PHASE, "memories")](operation, result)

    async def _memories(self, operation: Operation, result: dict[str, Any]) -> Progress:
        selection, after = selection_of(operation), result.pop(CURSOR, None)
        page = await self.cleansing.texts(selection, PAGE, after and (int(after[0]), str(after[1])))
        done = operation.done + len(page)
        if not page:
            report = await self._report(operation, result)
            return Progress(done=done, total=done, result={**report, PHASE: "others"})
        cleaner = await self._cleaner(operation)
        if operation.request["dry_run"]:
            # In a thread: searching much text would block the event loop.
            cleaned = await asyncio.to_thread(lambda: [each for texts in page if (each := cleaner(texts)) is not None])
            result = _with(result, cleaned)
        else:
            ids = [item.memory.id for item in page]
            number = await self.cleansing.clean(operation, selection, ids, cleaner)
            result["cleaned"] = result.get("cleaned", 0) + number
        last = page[-1].memory
        return Progress(done=done, total=operation.total, result={**result, CURSOR: [last.created_at, last.id]})

    async def _report(self, operation: Operation, result: dict[str, Any]) -> dict[str, Any]:
        """Final report, counted in the database: a killed worker may not have recorded its last step."""
        if operation.request["dry_run"]:
            return {"cleaned": 0, "found": {}, EXAMPLE_LIST: [], **result}
        counts = await self.lifecycle.counts(operation.id)
        first = await self.lifecycle.first(operation.id, EXAMPLES)
        by_kind = await self.cleansing.found(operation.id)
        examples = [_example(change.memory_id, change.why) for change in first]
        cleaned = counts.get(Action.CLEANED, 0)
        return {**result, "cleaned": cleaned, "found": dict(sorted(by_kind.items())), EXAMPLE_LIST: examples}

    async def _count_others(self, operation: Operation, result: dict[str, Any]) -> Progress:
        """Count before cleaning: whoever repeats that after a kill finds nothing left to count, or to purge."""
        clean = await self._text(operation)
        found = 0 if clean is None else await self.cleansing.clean_others(operation, clean, dry_run=True)
        if found and not operation.request["dry_run"]:
            result |= {COUNTED: found, PHASE: "others counted"}
        else:
            result |= {PHASE: "streams"} | ({} if clean is None else {"others": found})
        return Progress(done=operation.done, total=operation.total, result=result)

    async def _others(self, operation: Operation, result: dict[str, Any]) -> Progress:
        clean, counted = await self._text(operation), int(result.pop(COUNTED))
        cleaned = 0 if clean is None else await self.cleansing.clean_others(operation, clean, dry_run=False)
        result["others"] = max(counted, cleaned)
        return Progress(done=operation.done, total=operation.total, result={**result, PHASE: "streams"})

    async def _streams(self, operation: Operation, result: dict[str, Any]) -> Progress:
        """Remove matching submissions from the streams. They are kept there as submitted, even if the memory was
        masked when stored or the submission was refused."""
        stripping = await self.stripping(operation)
        if stripping and not operation.request["dry_run"]:
            holds = lambda texts: any(item.holds(texts) for item in stripping)  # noqa: E731 - two lines say no more
            swept = await self.streams.sweep_taken(purge_traces.of_texts(operation.workspace_id, holds))
            result["submissions"] = sum(swept.deleted.values())
        return Progress(done=operation.done, total=operation.total, result={**result, PHASE: "vault"})

    async def _vault(self, operation: Operation, result: dict[str, Any]) -> Progress:
        stripped, pages = await self._text(operation), self.vault(operation.workspace_id)
        if stripped is not None and pages is not None:
            result["pages"] = await pages.clean(stripped, dry_run=bool(operation.request["dry_run"]))
        if not operation.request["dry_run"]:
            counts = {name: number for name, number in result.items() if isinstance(number, int)}
            if any(counts.values()):
                # Purges database and stream files of what was cleaned outside memories.
                await self.operations.start_operation(purge_after(operation))
            await announce_end(self.outbox, operation, counts, self.clock.now())
        return Progress(done=operation.done, total=operation.done, result=result, finished=True)

    async def _text(self, operation: Operation) -> CleanText | None:
        stripping = await self.stripping(operation)

        def clean(text: str) -> str:
            for item in stripping:
                text = item.text(text)
            return text

        return clean if stripping else None

    async def _cleaner(self, operation: Operation) -> Cleaner:
        normalising = None
        if operation.request["rule"].get("normalise"):
            tags, projects = await self.cleansing.spellings(operation.workspace_id)
            normalising = Normalising(one_spelling(tags), one_spelling(projects))
        return Cleaner(await self.stripping(operation), normalising)


def _with(result: Mapping[str, Any], cleaned: Sequence[Cleaned]) -> dict[str, Any]:
    """Add these to the report of a dry run."""
    examples = list(result.get(EXAMPLE_LIST, ()))
    examples += [_example(item.texts.memory.id, summary(item.found)) for item in cleaned[: EXAMPLES - len(examples)]]
    counts = Counter(result.get("found", {})) + total(cleaned)
    number = result.get("cleaned", 0) + len(cleaned)
    return {**result, "cleaned": number, "found": dict(sorted(counts.items())), EXAMPLE_LIST: examples}


def _example(memory_id: str, why: str) -> dict[str, str]:
    return {"id": memory_id, "action": Action.CLEANED.value, "why": why}
