"""Two versions of an event, read in parallel."""

from typing import Annotated, Any

import pytest
from pydantic import Field

from openbrain.domain.errors import Invalid, NeverRetry, TryLater, UnknownVersion
from openbrain.domain.events.data import EventData, MemoryStored
from openbrain.domain.events.envelope import CloudEvent, decode, encode
from openbrain.domain.events.streams import STORED, STREAMS
from openbrain.domain.events.versions import Older, decoder
from openbrain.domain.memory import Change

STREAM = STORED.name


class StoredV2(EventData):
    """A possible second version: the two numbers are one text, which no reader of the first version accepts."""

    memory_id: str
    state: Annotated[str, Field(pattern=r"^\d+/\d+$")]


def lift(old: MemoryStored) -> StoredV2:
    return StoredV2(memory_id=old.memory_id, state=f"{old.version}/{old.revision}")


BOTH = decoder(STREAM, StoredV2, version=2, older=[Older(version=1, data=MemoryStored, lift=lift)])
FIRST = decoder(STREAM, MemoryStored)


def first(**more: Any) -> bytes:
    data = {"memory_id": "0" * 8 + "-0000-0000-0000-" + "0" * 12, "workspace_id": "w", "version": 3, "revision": 5}
    return encode(STREAM, {**data, "change": Change.CREATED, **more}, event_id="e", at=0, causation_id="c")


def second(**more: Any) -> bytes:
    data = {"memory_id": "m", "state": "3/5", **more}
    return encode(STREAM, data, event_id="e", at=0, causation_id="c", version=2)


def test_both_are_read_as_the_newest() -> None:
    for raw in (first(), second()):
        event = BOTH(raw)
        assert isinstance(event, CloudEvent)
        assert event.data.state == "3/5"
        assert (event.id, event.causationid) == ("e", "c")


def test_fields_that_a_reader_does_not_know_are_not_read() -> None:
    assert FIRST(first(colour="red")).data == FIRST(first()).data
    assert BOTH(first(colour="red")) == BOTH(first())
    assert BOTH(second(colour="red")) == BOTH(second())
    assert FIRST(first().replace(b'"specversion"', b'"extension":1,"specversion"')) == FIRST(first())


def test_a_newer_version_is_told_apart_from_a_wrong_event() -> None:
    with pytest.raises(UnknownVersion, match=r"openbrain.memory.stored.v2 is not known here, openbrain.*v1 is"):
        FIRST(second())
    for wrong in (b"v1x", b"v", b"v-2", b"v02"):
        with pytest.raises(Invalid):
            FIRST(first().replace(b"stored.v1", b"stored." + wrong))
    with pytest.raises(Invalid, match="on this stream"):
        FIRST(first().replace(b"memory.stored", b"memory.embedded"))


def test_it_costs_an_attempt_and_neither_pauses_the_room_nor_ends_the_entry() -> None:
    assert not issubclass(UnknownVersion, NeverRetry | TryLater)


@pytest.mark.parametrize("reader", [FIRST, BOTH])
def test_a_bad_event_of_a_known_version_names_its_first_bad_field(reader: Any) -> None:
    with pytest.raises(Invalid, match=r"^data\.revision: "):
        FIRST(first(revision=0))
    with pytest.raises(Invalid, match=r"^data\.revision: "):
        BOTH(first(revision=0))
    with pytest.raises(Invalid, match=r"^data\.state: "):
        BOTH(second(state="no"))
    for raw in (b"", b"[]", b"\xff", b"{}", b'{"type":7}'):
        with pytest.raises(Invalid):
            reader(raw)


def test_what_cannot_be_lifted_is_a_bad_event() -> None:
    def fails(old: MemoryStored) -> StoredV2:
        return StoredV2(memory_id=old.memory_id, state="nothing")

    reader = decoder(STREAM, StoredV2, version=2, older=[Older(version=1, data=MemoryStored, lift=fails)])
    with pytest.raises(Invalid, match=r"^state: "):
        reader(first())


@pytest.mark.parametrize("spec", STREAMS, ids=lambda spec: spec.name)
def test_every_stream_has_one_type_and_a_reader_of_it(spec: Any) -> None:
    assert spec.type == f"openbrain.{spec.name}.v{spec.version}"
    assert all(older.version < spec.version for older in spec.older)
    with pytest.raises(UnknownVersion):
        spec.decoder()(encode(spec.name, {}, event_id="e", at=0, version=spec.version + 1))


def test_the_newest_version_is_read_as_before() -> None:
    assert FIRST(first()) == decode(CloudEvent[MemoryStored], first(), STORED.type)
