"""Compares memories with the standing queries of their workspace, and delivers the matches.

An event only says which row to read, so duplicates, reordering and replay change nothing.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from openbrain.domain.memory import MICROSECONDS, Memory
from openbrain.observability import metrics
from openbrain.ports.store.index_entries import PassageSet
from openbrain.ports.store.store import Store
from openbrain.ports.subscriptions import Match, MatchedMemory, QueuedMemory
from openbrain_matcher.matching.book import Book
from openbrain_matcher.matching.books import Books


async def match(memories: Sequence[QueuedMemory], *, store: Store, books: Books, now: int, queued: bool = False) -> int:
    """Deliver matches; their number. A memory whose row has another revision by now is only removed from the queue: its
    change queued it again. For a workspace without queries nothing is written, except that memories read from the queue
    (`queued`) are removed from it: the workspace's queries were removed meanwhile."""
    by_workspace: defaultdict[str, list[QueuedMemory]] = defaultdict(list)
    for memory in memories:
        by_workspace[memory.workspace_id].append(memory)
    current = await books.fresh(list(by_workspace))
    delivered = 0
    for workspace_id, some in by_workspace.items():
        if (book := current.get(workspace_id)) is not None:
            delivered += await _of_workspace(workspace_id, some, book, store, now)
        elif queued:
            await store.matches.deliver(workspace_id, [], _done(some), now)
    return delivered


async def _of_workspace(workspace_id: str, memories: Sequence[QueuedMemory], book: Book, store: Store, now: int) -> int:
    rows = await store.memories.rows([memory.memory_id for memory in memories])
    # The workspace in a stream's event is not trusted; the row's own counts.
    own = {item.id: item for item in rows.values() if item.workspace_id == workspace_id}
    ended = [row for row in own.values() if not row.alive(now)]
    if ended:
        withdrawn = await store.matches.withdraw(
            workspace_id, [MatchedMemory(row.id, row.revision) for row in ended], now
        )
        metrics.STANDING_MATCHES.labels("withdrawn").inc(withdrawn)
    current = [memory for memory in memories if (row := own.get(memory.memory_id)) and row.alive(now)]
    current = [item for item in current if own[item.memory_id].revision == item.revision]
    matches = await _found(current, own, book, store)
    delivered = await store.matches.deliver(workspace_id, matches, _done(memories), now)
    metrics.STANDING_MATCHES.labels("delivered").inc(len(delivered))
    for memory_id in {item.memory_id for item in delivered}:
        metrics.STANDING_SECONDS.observe(max(0, now - own[memory_id].updated_at) / MICROSECONDS)
    return len(delivered)


async def _found(
    memories: Sequence[QueuedMemory], rows: Mapping[str, Memory], book: Book, store: Store
) -> Sequence[Match]:
    by_model: defaultdict[str, list[str]] = defaultdict(list)
    for memory in memories:
        by_model[memory.model].append(memory.memory_id)
    matches: list[Match] = []
    for model, ids in by_model.items():
        passages: Mapping[str, PassageSet] = await store.vectors.passages(ids, model) if model else {}
        for memory_id in ids:
            matches += matches_of(rows[memory_id], passages.get(memory_id), model, book)
    return matches


def matches_of(row: Memory, passages: PassageSet | None, model: str, book: Book) -> Sequence[Match]:
    """The matches of a memory. Its vectors are used only if they are of the row's revision."""
    vectors = passages.vectors if passages is not None and passages.revision == row.revision else ()
    return [
        Match(
            query=item.query,
            memory_id=row.id,
            revision=row.revision,
            org=row.org,
            content_hash=row.content_hash,
            similarity=item.similarity,
        )
        for item in book.find(row, vectors, model)
    ]


def _done(memories: Sequence[QueuedMemory]) -> list[MatchedMemory]:
    return [MatchedMemory(memory.memory_id, memory.revision) for memory in memories]
