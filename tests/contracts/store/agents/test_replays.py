"""Many replays of standing queries at once."""

from openbrain.adapters.sql.store import SqlStore
from openbrain.ports.subscriptions import Replay
from tests.contracts.store.agents.test_standing_queries import key, query
from tests.support.store.fixtures import START

__all__ = ["key"]


async def test_each_of_many_replays_has_its_turn(store: SqlStore, key: str) -> None:
    for number in range(4):
        made = await store.standing_queries.add_query(query(key, f"payments {number}"), {})
        await store.replays.start_replay(Replay(query=made, since=5, before=(START, ""), again=False))

    seen: set[str] = set()
    for _ in range(100):
        some = await store.replays.replays(2)
        assert len({each.query.id for each in some}) == 2
        seen |= {each.query.query for each in some}

    assert seen == {f"payments {number}" for number in range(4)}
