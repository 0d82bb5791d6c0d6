"""From a submission to what is stored."""

import asyncio
import unicodedata
from collections.abc import Sequence
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openbrain.domain import limits
from openbrain.domain.errors import Forbidden, Invalid, NeverRetry
from openbrain.domain.events.envelope import CloudEvent
from openbrain.domain.events.submission import MemorySubmitted, Submission
from openbrain.domain.ids import content_hash, is_uuid
from openbrain.domain.memory import DAY, HOUR, MemoryType, Scope
from openbrain.ports.content import Admitted, NamedText
from openbrain.ports.store.writes import Origin, Outcome, Status, Write
from openbrain.usecases.content.policy import DetectingPolicy
from openbrain.usecases.remember import Change, Offer, normalised, prepare, prepare_edit, remember
from openbrain.usecases.submit import KEY_LIFETIME, from_event
from tests.support.store.fixtures import START, FakeClock
from tests.unit.operating.test_auth import actor


class Masking:
    """Masks one secret and refuses another."""

    def passes(self, texts: Sequence[NamedText]) -> bool:
        return not any("hunter2" in text or "refuse-me" in text for _, text in texts)

    def admit(self, texts: Sequence[NamedText], *, refusing: bool = True) -> Admitted:
        for field, text in texts:
            if refusing and "refuse-me" in text:
                raise Invalid(field, "holds a secret")
        return Admitted([text.replace("hunter2", "***") for _, text in texts])


class Mask(DetectingPolicy):
    """Applies `Masking` in every workspace."""

    def of(self, workspace_id: str) -> Masking:
        return Masking()


def prepared(content_policy: Any = None, key: str = "", who: Any = None, **fields: Any) -> Write:
    offer = Offer(
        submission=Submission(**({"content": "the sky is blue", "type": "fact"} | fields)),
        actor=who or actor(),
        origin=Origin(actor="ada"),
        idempotency_key=key,
    )
    return prepare(offer, clock=FakeClock(), content_policy=content_policy or DetectingPolicy())


def refused(error: type[Exception] = Invalid, **fields: Any) -> Any:
    with pytest.raises(error) as caught:
        prepared(**fields)
    return caught.value


def test_times_come_from_the_clock_and_absent_names_are_empty() -> None:
    memory = prepared().memory

    assert {memory.created_at, memory.updated_at, memory.confirmed_at, memory.occurred_at} == {START}
    assert (memory.org, memory.project, memory.session_id, memory.speaker) == ("", "", "", "")
    assert (memory.workspace_id, memory.agent_id, memory.confidence) == ("w1", "ada", 1.0)
    assert is_uuid(memory.id)
    assert memory.expires_at is None


def test_what_happened_earlier_keeps_its_own_time_only_as_occurred_at() -> None:
    memory = prepared(occurred_at="2001-02-03T04:05:06+02:00").memory

    assert memory.occurred_at == 981_165_906_000_000
    assert memory.created_at == START


def test_hours_count_from_now() -> None:
    assert prepared(expires_in=2).memory.expires_at == START + 2 * HOUR


@pytest.mark.parametrize("moment", ["2027-01-15T08:00:00Z", "2001-01-01T00:00:00Z", "2300-01-01T00:00:00Z"])
def test_an_expiry_lies_in_the_future_that_indexes_can_count(moment: str) -> None:
    assert refused(expires_at=moment).field == "expires_at"


@given(st.text(st.characters(exclude_categories=["Cs", "Cc"], include_characters="\n\r\t "), max_size=40))
def test_content_is_kept_in_one_form(text: str) -> None:
    once = normalised(text)

    assert normalised(once) == once
    assert unicodedata.is_normalized("NFC", once)
    assert "\r" not in once
    assert once == normalised(f"\r\n{unicodedata.normalize('NFD', text)}  \r\n")


def test_equal_texts_have_equal_hashes_however_they_are_typed() -> None:
    composed = prepared(content="caf\u00e9\nau lait").memory
    other = prepared(content="\ncafe\u0301\r\nau lait \n").memory

    assert composed.content_hash == other.content_hash == content_hash("caf\u00e9\nau lait")
    assert prepared(content="  indented").memory.content == "  indented"


def test_content_that_grows_when_it_is_normalised_is_measured_then() -> None:
    grows = "\u0958" * (limits.CONTENT_CHARS // 2 + 1)

    assert refused(content=grows).field == "content"


def test_the_gate_stands_before_the_hash() -> None:
    memory = prepared(Mask(), content="password hunter2").memory

    assert memory.content == "password ***"
    assert memory.content_hash == content_hash("password ***")
    assert refused(content_policy=Mask(), content="refuse-me").field == "content"


def test_every_text_of_a_memory_stands_behind_the_gate() -> None:
    nested: Any = {"hunter2": {"owner": ["ada", "hunter2"], "n": 3}, "plain": "left"}
    given: Any = {"title": "a hunter2", "aliases": ["hunter2", "x"], "tags": ["t", "hunter2"], "source": "hunter2 said"}
    memory = prepared(Mask(), metadata=nested, speaker="hunter2", **given).memory

    assert (memory.title, memory.aliases, memory.tags) == ("a ***", ("***", "x"), ("t", "***"))
    assert (memory.source, memory.speaker) == ("*** said", "***")
    assert memory.metadata == {"***": {"owner": ["ada", "***"], "n": 3}, "plain": "left"}
    changed = edit(metadata=nested, **given)
    assert (changed.title, changed.metadata) == (memory.title, memory.metadata)
    for field in given:
        wrong: Any = "refuse-me" if field in {"title", "source"} else ["refuse-me"]
        assert refused(content_policy=Mask(), **{field: wrong}).field == field
    assert refused(content_policy=Mask(), metadata={"deep": [{"er": "refuse-me"}]}).field == "metadata.deep.er"


@pytest.mark.parametrize("scope", [Scope.AGENT, Scope.SESSION])
def test_what_belongs_to_an_agent_needs_one(scope: Scope) -> None:
    nobody = actor(agent_id="")

    assert refused(who=nobody, memory_scope=scope, session_id="s1").field == "agent_id"
    assert refused(who=nobody, memory_scope=scope, session_id="s1", agent_id="ada").field == "agent_id"
    assert prepared(who=actor(agent_id="", act_as=("ada",)), memory_scope=scope, session_id="s1", agent_id="ada")


def test_an_org_that_is_not_the_keys_is_forbidden() -> None:
    limited = actor(orgs=("acme",), without_org=False)

    assert prepared(who=limited, org="acme").memory.org == "acme"
    refused(Forbidden, who=limited, org="other")
    refused(Forbidden, who=limited)


def test_the_writer_sees_what_it_writes() -> None:
    write = prepared(memory_scope="session", session_id="s1")

    assert (write.viewer.agent_id, write.viewer.session_id) == ("ada", "s1")


def test_idempotency_keys_of_two_callers_never_meet() -> None:
    keys = {
        prepared(key="k").idempotency_key,
        prepared(key="k", who=actor(key_id="k2")).idempotency_key,
        prepared(key="k", who=actor(agent_id="bob")).idempotency_key,
        prepared(key="other").idempotency_key,
    }

    assert len(keys) == 4
    assert prepared(key="k").idempotency_expires_at == START + DAY
    assert prepared().idempotency_key == ""


def event(data: dict[str, Any] | None = None, **changes: Any) -> CloudEvent[MemorySubmitted]:
    own = {"content": "x", "type": "fact", "workspace_id": "w1", "agent_id": "ada"} | (data or {})
    given = {"id": "e1", "source": "/producer", "type": "openbrain.memory.submitted.v1", "data": own} | changes
    return CloudEvent[MemorySubmitted].model_validate(given)


def test_an_event_says_who_submits() -> None:
    offer = from_event(event(traceparent="00-1-1-01"))

    assert (offer.actor.workspace_id, offer.actor.agent_id) == ("w1", "ada")
    assert offer.origin == Origin(actor="ada", causation_id="e1", traceparent="00-1-1-01")
    assert offer.key_lifetime == KEY_LIFETIME
    assert from_event(event({"agent_id": None})).origin.actor == "/producer"


def test_a_bound_stream_ignores_the_workspace_of_the_body() -> None:
    assert from_event(event(), bound_workspace="w9").actor.workspace_id == "w9"
    assert from_event(event({"workspace_id": None}), bound_workspace="w9").actor.workspace_id == "w9"
    with pytest.raises(NeverRetry, match="workspace_id"):
        from_event(event({"workspace_id": None}))


def test_the_same_event_is_the_same_submission_unless_it_says_what_is() -> None:
    def key(*args: Any, **changes: Any) -> str:
        return from_event(event(*args, **changes)).idempotency_key

    assert key() == key()
    assert key() != key(id="e2")
    assert key() != key(source="/other")
    assert key({"idempotency_key": "k"}) == key({"idempotency_key": "k"}, id="e2")
    assert key({"idempotency_key": "k"}) != key()


def edit(**changes: Any) -> Any:
    return prepare_edit(
        "m1",
        Change(**changes),
        actor=actor(),
        session_id="s1",
        origin=Origin(actor="ada"),
        clock=FakeClock(),
        content_policy=Mask(),
    )


def test_a_change_takes_the_same_way_as_new_content() -> None:
    assert edit(content="hunter2\r\n").content == "***"
    assert edit(expires_in=1).expires_at == START + HOUR
    assert edit(lasts=True).expires_at == 0
    assert edit(confirm=True).expires_at is None
    assert edit(tags=()).tags == ()
    assert edit(confirm=True).viewer.session_id == "s1"
    for changes in ({}, {"content": " \n"}, {"content": "refuse-me"}, {"expires_at": START}):
        with pytest.raises(Invalid):
            edit(**changes)


class Kept:
    """Records what is written, and does nothing else."""

    def __init__(self) -> None:
        self.writes: list[Write] = []

    async def remember(self, writes: Sequence[Write]) -> Sequence[Outcome]:
        self.writes += writes
        return [Outcome(Status.CREATED, each.memory) for each in writes]


ECHO = "<<memory 0123456789ab 1>>\nx\n<<end 0123456789ab 1>>"


@pytest.mark.parametrize("odd", [{}, {3: "a hunter2"}, {3: "refuse-me"}, {3: "a hunter2", 70: "refuse-me", 71: ECHO}])
async def test_many_are_looked_at_together_and_become_what_each_would(odd: dict[int, str]) -> None:
    contents = [odd.get(number, f"the sky is blue {number}") for number in range(80)]
    offers = [
        Offer(
            submission=Submission(content=content, type=MemoryType.FACT),
            actor=actor(),
            origin=Origin(actor="ada"),
            verbatim=number % 2 == 0,
        )
        for number, content in enumerate(contents)
    ]
    kept: Any = Kept()
    outcomes = await remember(offers, writes=kept, clock=FakeClock(), content_policy=Mask())

    expected: list[str | None] = []
    for offer in offers:
        try:
            expected.append(prepare(offer, clock=FakeClock(), content_policy=Mask()).memory.content)
        except Invalid:
            expected.append(None)
    assert [each.memory.content if each.memory else None for each in outcomes] == expected
    assert [each.memory.content for each in kept.writes] == [each for each in expected if each is not None]


async def test_long_ones_leave_the_loop_to_others_between_them() -> None:
    contents = [f"{number} {'as long as a page ' * 1_000}" for number in range(6)]
    offers = [
        Offer(submission=Submission(content=each, type=MemoryType.FACT), actor=actor(), origin=Origin(actor="ada"))
        for each in contents
    ]
    turns, kept = 0, Kept()

    async def beside() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0)
            turns += 1

    others = asyncio.create_task(beside())
    await asyncio.sleep(0)
    outcomes = await remember(offers, writes=cast(Any, kept), clock=FakeClock(), content_policy=DetectingPolicy())
    others.cancel()

    assert len(outcomes) == len(offers)
    assert turns >= len(offers) - 1
