"""Job `replays`: compares a standing query with past memories, newest first, page by page. If the process dies, the
next one continues from the last page and may deliver some matches twice."""

from collections.abc import Sequence

from openbrain.domain.access.visibility import visible
from openbrain.domain.memory import Memory
from openbrain.ports.clock import Clock
from openbrain.ports.store.generations import IndexKind
from openbrain.ports.store.store import Store
from openbrain.ports.subscriptions import Match, Replay
from openbrain_matcher.handlers.matching import matches_of
from openbrain_matcher.matching.book import Book

PAGE = 200
AT_ONCE = 10


async def replay(store: Store, clock: Clock) -> int:
    """Continue the pending replays, one page each; the number of replays."""
    replays = await store.replays.replays(AT_ONCE)
    for item in replays:
        await _go_on(item, store, clock.now())
    return len(replays)


async def _go_on(replay: Replay, store: Store, now: int) -> None:
    query = replay.query
    condition = visible(query.viewer, query.criteria, now)
    rows = await store.memories.listing(condition, PAGE, replay.before)
    some = [row for row in rows if row.created_at >= replay.since]
    if some:
        matches = await _matches(replay, some, store)
        await store.matches.deliver(query.workspace_id, matches, [], now, again=replay.again)
    ended = len(rows) < PAGE or len(some) < len(rows)
    await store.replays.replayed(replay, None if ended else (rows[-1].created_at, rows[-1].id))


async def _matches(replay: Replay, rows: Sequence[Memory], store: Store) -> Sequence[Match]:
    book = Book()
    book.apply([replay.query], await store.standing_queries.query_vectors([replay.query.id]))
    serving = await store.generations.serving(IndexKind.VECTOR)
    model = "" if serving is None else serving.model
    passages = await store.vectors.passages([row.id for row in rows], model) if model else {}
    return [item for row in rows for item in matches_of(row, passages.get(row.id), model, book)]
