"""Events that are put together say byte for byte what `encode` says."""

import orjson
from hypothesis import given
from hypothesis import strategies as st

from openbrain.adapters.sql.outbox import event_bytes
from openbrain.domain.events.envelope import encode
from openbrain.domain.events.streams import EMBEDDED, REINDEX, STORED
from openbrain.domain.ids import uuid7
from openbrain.domain.memory import Change, Memory, MemoryType
from openbrain.ports.store.index_entries import Embedded
from openbrain.ports.store.writes import Origin

NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=60)
MAYBE = st.none() | NAMES
MOMENTS = st.integers(0, 4_000_000_000_000_000)


def encoded(like: tuple[str, bytes], fields: dict[str, object], at: int, cause: str | None, trace: str | None) -> bytes:
    """The event of these fields, with the id of the other."""
    stream, body = like
    own = {"event_id": orjson.loads(body)["id"], "subject": str(fields["memory_id"])}
    return encode(stream, fields, at=at, causation_id=cause, traceparent=trace, **own)


@given(NAMES, MAYBE, MAYBE, MOMENTS, st.sampled_from(Change), st.booleans())
def test_stored(workspace: str, cause: str | None, trace: str | None, at: int, change: Change, bulk: bool) -> None:
    memory = Memory(id=uuid7(at), workspace_id=workspace, content="x", type=MemoryType.FACT, version=3, revision=7)
    origin = Origin(actor="a", causation_id=cause, traceparent=trace, bulk=bulk)
    made = event_bytes.stored(memory, change, origin, at)
    fields: dict[str, object] = {
        "memory_id": memory.id,
        "workspace_id": workspace,
        "version": 3,
        "revision": 7,
        "change": change,
    }
    assert made == ((REINDEX if bulk else STORED).name, encoded(made, fields, at, cause, trace))


@given(NAMES, NAMES, MAYBE, MAYBE, MOMENTS)
def test_embedded(workspace: str, model: str, cause: str | None, trace: str | None, at: int) -> None:
    memory_id = uuid7(at)
    passages = Embedded(
        memory_id=memory_id,
        workspace_id=workspace,
        revision=2,
        input_hashes=("a",),
        causation_id=cause,
        traceparent=trace,
    )
    made = event_bytes.embedded(passages, model, at)
    fields: dict[str, object] = {"memory_id": memory_id, "workspace_id": workspace, "revision": 2, "model": model}
    assert made == (EMBEDDED.name, encoded(made, fields, at, cause, trace))
