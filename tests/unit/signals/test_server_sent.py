"""Server-sent events: what is written can be read back, however the bytes are cut."""

import asyncio
from collections.abc import AsyncIterator, Sequence

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from openbrain.client.server_sent_events import Sent, events
from openbrain.domain.access.visibility import Viewer
from openbrain.ports.streams import StreamedBroadcast
from openbrain_api.broadcasts.frames import HEARTBEAT, Unreadable, encoded, frame, frames, retry, skipped

EVERYONE = Viewer(workspace_id="w1", agent_id="ada")


def spoken(seq: int, org: str = "", title: str = "t") -> StreamedBroadcast:
    data = {"seq": seq, "title": title, **({"org": org} if org else {})}
    return StreamedBroadcast(seq, orjson.dumps({"specversion": "1.0", "data": data}))


def read(parts: Sequence[bytes]) -> list[Sent]:
    async def coming() -> AsyncIterator[bytes]:
        for part in parts:
            yield part

    async def whole() -> list[Sent]:
        return [each async for each in events(coming())]

    return asyncio.run(whole())


@given(
    st.lists(st.tuples(st.sampled_from(["broadcast", "state", "skipped"]), st.text()), max_size=8), st.integers(1, 40)
)
def test_what_is_written_is_read_again(said: list[tuple[str, str]], size: int) -> None:
    wire = retry(500) + HEARTBEAT + b"".join(frame(name, orjson.dumps(text), 1) for name, text in said)

    found = read([wire[at : at + size] for at in range(0, len(wire), size)])

    assert found == [Sent(), *(Sent(name, orjson.dumps(text)) for name, text in said)]


def test_of_an_event_that_was_cut_off_nothing_is_told() -> None:
    assert read([frame("state", b"{}") + b"event: broadcast\ndata: {"]) == [Sent("state", b"{}")]


def test_lines_may_end_as_elsewhere_and_data_may_be_several() -> None:
    assert read([b"event: x\r\ndata: a\r\ndata: b\r\n\r\n"]) == [Sent("x", b"a\nb")]


@given(st.lists(st.sampled_from(["", "alpha", "beta"]), min_size=1, max_size=12))
def test_a_key_of_some_orgs_is_told_the_numbers_of_the_others(orgs: list[str]) -> None:
    """No number is missing, and no event of another org is sent."""
    found = [encoded(spoken(number, org, f"of {org or 'none'}")) for number, org in enumerate(orgs, 1)]
    eyes = Viewer(workspace_id="w1", agent_id="ada", orgs=("alpha",), without_org=False)

    wire = frames(eyes, found)
    told = read([wire])

    numbers: list[int] = []
    for each in told:
        data = orjson.loads(each.data)
        if each.name == "broadcast":
            numbers.append(data["data"]["seq"])
        else:
            numbers += range(data["first"], data["last"] + 1)
    assert numbers == list(range(1, len(orgs) + 1))
    assert b"beta" not in wire
    assert b"of none" not in wire
    assert wire.count(b"event: broadcast") == orgs.count("alpha")


def test_a_key_without_limits_hears_all() -> None:
    wire = frames(EVERYONE, [encoded(spoken(1, "alpha")), encoded(spoken(2))])

    assert [each.name for each in read([wire])] == ["broadcast", "broadcast"]
    assert b"id: 1\n" in wire


def test_numbers_that_are_skipped_move_the_clients_place() -> None:
    assert skipped(3, 5).startswith(b"id: 5\n")


def test_an_event_with_line_ends_stays_one_event() -> None:
    event = b'{"data":\n{"seq": 1,\r\n"title": "x"}}'

    (told,) = read([encoded(StreamedBroadcast(1, event)).frame])

    assert orjson.loads(told.data) == {"data": {"seq": 1, "title": "x"}}


@pytest.mark.parametrize(
    "event", [b"", b"no json", b"[]", b"{}", b'{"data": 5}', b'{"data": {"seq": 2}}', b'{"data": {"seq": 1, "org": 5}}']
)
def test_what_is_no_broadcast_is_said_to_be_none(event: bytes) -> None:
    with pytest.raises(Unreadable):
        encoded(StreamedBroadcast(1, event))
