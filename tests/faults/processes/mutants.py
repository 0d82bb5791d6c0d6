"""Ways to break the pipeline on purpose, applied in service processes by the launcher. None of them is in the
product."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Mutant:
    """A change that the harness must catch. `scenario`: the one of `scenarios.py` that must fail with it."""

    about: str
    scenario: str
    apply: Callable[[], None]


def _ack_before_the_effect() -> None:
    from openbrain.streams.handling.consumer import Consumer

    handle = Consumer._handle

    async def acked(self: Consumer, batch: Sequence[Any], loop: str, **options: Any) -> Any:
        await self.group.ack([delivery.id for delivery in batch])
        return await handle(self, batch, loop, **options)

    Consumer._handle = acked  # type: ignore[method-assign]


def _no_fence() -> None:
    _actions(lambda action: {"_id": action["_id"]})


def _fence_with_lt() -> None:
    _actions(lambda action: {**action, "version_type": "external"})


def _actions(changed: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    """Apply `changed` to every bulk action that is sent to Elasticsearch."""
    import orjson

    from openbrain.adapters.elasticsearch.generations import Generations

    lines = Generations._lines

    def rewritten(self: Any, entry: Any) -> bytes:
        action, document = lines(self, entry).split(b"\n", 1)
        return orjson.dumps({"index": changed(orjson.loads(action)["index"])}) + b"\n" + document

    Generations._lines = rewritten  # type: ignore[method-assign]


def _removal_without_tombstone() -> None:
    from elasticsearch import ApiError

    from openbrain.adapters.elasticsearch.generations import Generations
    from openbrain.ports.index import Tombstone

    write = Generations.write

    async def removed(self: Any, name: str, entries: Sequence[Any], **options: Any) -> dict[str, Exception]:
        for entry in entries:
            if isinstance(entry, Tombstone):
                try:
                    await self._client.delete(
                        index=self.index(name), id=entry.id, version=entry.revision, version_type="external_gte"
                    )
                except ApiError:
                    continue
        return await write(self, name, [entry for entry in entries if not isinstance(entry, Tombstone)], **options)

    Generations.write = removed  # type: ignore[method-assign]


def _mark_without_condition() -> None:
    from openbrain.adapters.sql.indexes import index_marks

    before = index_marks._MARK
    index_marks._MARK = before.replace("WHERE revision = {slot} AND", "WHERE {slot} > 0 AND")
    if before == index_marks._MARK:
        raise AssertionError("the mark has no such condition any more: change this mutant")


def _group_at_the_end() -> None:
    from redis.exceptions import ResponseError

    from openbrain.streams.group.consumer_group import ConsumerGroup

    async def join(self: ConsumerGroup) -> bool:
        try:
            await self.client.xgroup_create(self.stream, self.group, id="$", mkstream=True)
        except ResponseError:
            return False
        return True

    ConsumerGroup.join = join  # type: ignore[method-assign]


def _relay_by_cursor() -> None:
    from openbrain.adapters.sql.outbox.relay import SqlOutbox

    take, seen = SqlOutbox.take, [0]

    async def beyond(self: Any, limit: int) -> Any:
        entries = [entry for entry in await take(self, limit) if entry.id > seen[0]]
        seen[0] = max([seen[0], *(entry.id for entry in entries)])
        return entries

    SqlOutbox.take = beyond  # type: ignore[method-assign]


def _relay_forgets_first() -> None:
    from openbrain.adapters.sql.outbox.relay import SqlOutbox

    take, delete = SqlOutbox.take, SqlOutbox.delete

    async def taken(self: Any, limit: int) -> Any:
        entries = await take(self, limit)
        await delete(self, [entry.id for entry in entries])
        return entries

    SqlOutbox.take = taken  # type: ignore[method-assign]


def _refused_counts_as_published() -> None:
    from openbrain.domain.errors import TryLater
    from openbrain.streams.publishing.publisher import Publisher

    publish = Publisher.publish

    async def hopeful(self: Any, entries: Sequence[Any]) -> Any:
        try:
            return await publish(self, entries)
        except TryLater:
            return [None] * len(entries)

    Publisher.publish = hopeful  # type: ignore[method-assign]


def _lease_never_renewed() -> None:
    from openbrain.streams.handling.consumer import Consumer

    async def renew(self: Consumer) -> None:
        return

    Consumer.renew = renew  # type: ignore[method-assign]


def _no_claim() -> None:
    from openbrain.streams.group.consumer_group import ConsumerGroup

    made = ConsumerGroup.__init__

    def patient(self: ConsumerGroup, *args: Any, **options: Any) -> None:
        made(self, *args, **options)
        self._lease_ms = 10**12

    ConsumerGroup.__init__ = patient  # type: ignore[method-assign]


def _trim_past_pending() -> None:
    from openbrain.streams.operating import trim

    async def needed(*_: Any) -> tuple[int, int]:
        return (2**62, 0)

    trim._needed = needed  # type: ignore[assignment]


def _dead_letter_without_ack() -> None:
    from openbrain.streams.group.consumer_group import ConsumerGroup

    async def bury(self: ConsumerGroup, entry: Any, error: Exception, **_: Any) -> bool:
        fields: dict[Any, Any] = {"entry": entry.id, "error": type(error).__name__, "message": str(error)}
        pairs = dict(zip(entry.fields[::2], entry.fields[1::2], strict=True))
        await self.client.xadd(self.dead, {**fields, **pairs})
        return True

    ConsumerGroup.bury = bury  # type: ignore[method-assign]


def _failure_is_acknowledged() -> None:
    from openbrain.streams.group.consumer_group import ConsumerGroup

    async def park(self: ConsumerGroup, failed: Any) -> int:
        return await self.ack([delivery.id for delivery, _ in failed])

    ConsumerGroup.park = park  # type: ignore[method-assign]


def _bad_neighbour() -> None:
    from openbrain.streams.handling.consumer import Consumer

    parse = Consumer._parse

    async def all_or_none(self: Consumer, entries: Sequence[Any], loop: str, **options: Any) -> Any:
        good = await parse(self, entries, loop, **options)
        if len(good) < len(entries):
            await self.group.ack([entry.id for entry in entries])
            return []
        return good

    Consumer._parse = all_or_none  # type: ignore[method-assign]


def _vanished_passages_stay() -> None:
    import openbrain_indexer.handlers.vectors
    from openbrain.ports.index import Tombstone

    handlers: Any = openbrain_indexer.handlers.vectors
    made = handlers.vector_entries

    def kept(*args: Any) -> Any:
        return [entry for entry in made(*args) if not isinstance(entry, Tombstone)]

    handlers.vector_entries = kept


def _keys_forgotten() -> None:
    from openbrain.usecases import remember

    remember.own_key = lambda *_: ""


def _reconcile_skips_buckets() -> None:
    from openbrain_housekeeper.reconciliation.comparison import Comparison

    accounted = Comparison._accounted

    def odd(self: Comparison, account: Any) -> frozenset[int]:
        return frozenset(bucket for bucket in accounted(self, account) if bucket % 2)

    Comparison._accounted = odd  # type: ignore[method-assign]


def _nothing_reconciled() -> None:
    from openbrain_housekeeper.jobs.full_comparison import FullComparison
    from openbrain_housekeeper.jobs.unmarked_rows import Marks

    async def nothing(self: Any) -> int:
        return 0

    Marks.round = nothing  # type: ignore[method-assign]
    FullComparison.round = nothing  # type: ignore[method-assign]


MUTANTS: Mapping[str, Mutant] = {
    "ack before effect": Mutant(
        "entries are acknowledged, then handled", "killed in the middle", _ack_before_the_effect
    ),
    "no claim": Mutant("what a dead consumer held stays with it", "killed in the middle", _no_claim),
    "no fence": Mutant("an index takes whatever comes", "a writer from the past", _no_fence),
    "fence with lt": Mutant("an equal revision is not written", "damaged entries", _fence_with_lt),
    "no tombstone": Mutant("a removal is a delete", "a writer from the past", _removal_without_tombstone),
    "mark without condition": Mutant("a mark asks for no revision", "a late mark", _mark_without_condition),
    "group at $": Mutant("a new group begins at the end", "a late reader", _group_at_the_end),
    "relay by cursor": Mutant("the relay takes what is above its last id", "a late commit", _relay_by_cursor),
    "relay forgets first": Mutant("events are deleted, then published", "a dying relay", _relay_forgets_first),
    "refused is published": Mutant("an answer of `not now` counts as done", "a failover", _refused_counts_as_published),
    "lease never renewed": Mutant("leases run out under a slow handler", "a slow model", _lease_never_renewed),
    "trim past pending": Mutant("trimming asks for age alone", "a trimmed reader", _trim_past_pending),
    "dead letter without ack": Mutant("what is buried stays pending", "spoilt entries", _dead_letter_without_ack),
    "bad neighbour": Mutant("one bad entry takes its batch along", "spoilt entries", _bad_neighbour),
    "failure is acknowledged": Mutant("a failed attempt is the last", "a lying model", _failure_is_acknowledged),
    "vanished passages stay": Mutant("a shorter text keeps its old passages", "shorter texts", _vanished_passages_stay),
    "reconcile skips buckets": Mutant("half of the buckets are not compared", "lost entries", _reconcile_skips_buckets),
    "nothing reconciled": Mutant("nobody looks for what got lost", "a flushed server", _nothing_reconciled),
    "keys forgotten": Mutant("idempotency keys are not kept", "a dying API", _keys_forgotten),
}
"""By name."""
