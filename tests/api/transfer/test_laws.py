"""Whatever happened in a brain: exported, imported into an empty one and exported again, it is the same byte for
byte."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st

from openbrain_api.memories.transfer import importing
from tests.support.api.brain import Brain, http, unknown_id
from tests.support.api.transfer import (
    EVERYTHING,
    HEADER,
    TIMES,
    Line,
    admin,
    as_file,
    brain_database_url,
    export,
    forget_everything,
    keep_ids,
    memory_line,
    of_kind,
    take_in,
)
from tests.support.forms import examples

__all__ = ["brain_database_url"]

HOUR = 3_600_000_000
_PLAIN = st.characters(exclude_categories=["Cc", "Cs"])
TEXTS = st.one_of(
    st.sampled_from(["the harbour freezes", "naïve 日本語 😀", "a\ttab\nand lines", '"quoted" \\ back']),
    st.text(_PLAIN, min_size=1, max_size=20).filter(str.strip),
)
NAMES = st.text(_PLAIN, min_size=1, max_size=8).filter(lambda name: name.strip())
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | NAMES,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(NAMES, inner, max_size=2),
    max_leaves=4,
)
MOMENTS = st.sampled_from(
    ["0001-01-02T00:00:00Z", "1969-12-31T23:59:59.999999+01:00", "2026-02-03T04:05:06.7Z", "9998-12-30T23:00:00-00:30"]
)
GIVEN = {
    "type": st.sampled_from(["fact", "bug", "decision"]),
    "tags": st.lists(NAMES, max_size=3),
    "metadata": st.dictionaries(NAMES, JSON, max_size=2),
    "source": NAMES,
    "confidence": st.floats(0, 1),
}
OFFERS = st.fixed_dictionaries(
    {"content": TEXTS, "type": GIVEN["type"]},
    optional={
        **{name: GIVEN[name] for name in ("tags", "metadata", "source", "confidence")},
        "memory_scope": st.sampled_from(["project", "agent", "session", "shared"]),
        "org": NAMES,
        "project": NAMES,
        "session_id": st.just("s1"),
        "turn": st.integers(0, 5),
        "speaker": NAMES,
        "occurred_at": MOMENTS,
        "expires_in": st.integers(1, 3),
        "allow_duplicate": st.booleans(),
        "embed": st.booleans(),
    },
).map(lambda offer: {**offer, "session_id": "s1"} if offer.get("memory_scope") == "session" else offer)
EDITS = st.fixed_dictionaries({}, optional={**GIVEN, "content": TEXTS, "confirm": st.just(value=True)})
REASONS = st.text(_PLAIN, max_size=20)
WHICH = st.integers(0, 9)
STEPS: dict[str, Sequence[st.SearchStrategy[Any]]] = {
    "remember": [OFFERS],
    "supersede": [WHICH, OFFERS],
    "edit": [WHICH, EDITS],
    "forget": [WHICH, REASONS],
    "erase": [WHICH, REASONS],
    "restore": [WHICH, REASONS],
    "erase_matching": [GIVEN["type"]],
    "wait": [st.sampled_from([1, HOUR, 3 * HOUR])],
    "expire": [],
    "index": [],
    "offer": [TEXTS],
    "signal": [NAMES],
    "move": [],
}
STEP = st.sampled_from(sorted(STEPS)).flatmap(lambda name: st.tuples(st.just(name), *STEPS[name]))
HISTORIES = st.tuples(OFFERS, OFFERS, st.lists(STEP, min_size=4, max_size=25)).map(
    lambda drawn: [("remember", drawn[0]), ("remember", drawn[1]), *drawn[2]]
)


@dataclass
class History:
    """The actions of an agent and the services on one brain, which is moved now and then."""

    brain: Brain
    client: httpx.AsyncClient
    ids: list[str] = field(default_factory=list)
    moves: int = 0

    async def step(self, name: str, *given: Any) -> None:
        await getattr(self, name)(*given)

    async def remember(self, offer: dict[str, Any]) -> None:
        response = await self.client.post("/v1/brain/remember", json=offer)
        if response.status_code == 201:
            self.ids.append(response.json()["id"])
        assert response.status_code < 500, response.text

    async def supersede(self, which: int, offer: dict[str, Any]) -> None:
        await self.remember({**offer, "supersedes": self._one(which)})

    async def edit(self, which: int, changes: dict[str, Any]) -> None:
        await self._do("PATCH", which, json=changes)

    async def forget(self, which: int, reason: str) -> None:
        await self._do("DELETE", which, json={"reason": reason})

    async def erase(self, which: int, reason: str) -> None:
        await self._do("DELETE", which, params={"erase": 1}, json={"reason": reason})

    async def restore(self, which: int, reason: str) -> None:
        await self._do("POST", which, ":restore", json={"reason": reason})

    async def erase_matching(self, kind: str) -> None:
        asked = {"type": [kind], "erase": True, "dry_run": False}
        response = await self.client.post("/v1/brain/forget", json=asked)
        assert response.status_code < 500, response.text

    async def wait(self, time: int) -> None:
        self.brain.clock.advance(time)

    async def offer(self, content: str) -> None:
        """Import a file whose lines are remembered like any others, because the brain is not empty."""
        await take_in(self.client, as_file([HEADER, memory_line(content, agent_id="bob")]))

    async def signal(self, title: str) -> None:
        raised = {"title": title, "severity": "info", "source": "test", "type": "test"}
        response = await self.client.post("/v1/amygdala/signals", json=raised)
        assert response.status_code < 500, response.text

    async def expire(self) -> None:
        await self.brain.store.writes.expire_due(100, self.brain.clock.now())

    async def index(self) -> None:
        await self.brain.settle()

    async def move(self) -> None:
        """Move into an empty brain, in which the history continues."""
        file = await export(self.client)
        await self.brain.store._database.write(forget_everything)
        self.brain.clock.advance(1)
        self.moves += 1
        key = await self.brain.key(await self.brain.new_workspace(), "ada", permissions=EVERYTHING)
        self.client.headers["authorization"] = f"Bearer {key}"
        answer = await take_in(self.client, file)
        copy = await export(self.client)

        assert (answer["exact"], answer["complete"], answer["refusals"]) == (True, True, [])
        assert copy.splitlines()[1:-1] == file.splitlines()[1:-1]
        counts = [{**of_kind(each, "footer")[0], "digest": ""} for each in (file, copy)]
        assert counts[0] == counts[1]

    def _one(self, which: int) -> str:
        return self.ids[which % len(self.ids)]

    async def _do(self, method: str, which: int, then: str = "", **parts: Any) -> None:
        response = await self.client.request(method, f"/v1/brain/memories/{self._one(which)}{then}", **parts)
        assert response.status_code < 500, response.text


@settings(
    max_examples=examples(24),
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(steps=HISTORIES, chunk=st.sampled_from([1, 2, 100]))
@example(
    steps=[
        *[("remember", {"content": content, "type": "fact"}) for content in ("one", "two", "three")],
        ("edit", 0, {"content": "one, edited", "tags": ["a"]}),
        ("supersede", 0, {"content": "one, again", "type": "fact", "source": "test"}),
        ("forget", 1, "wrong"),
        ("index",),
        *[("erase", which, f"asked to, {which}") for which in range(4)],
        ("move",),
        ("erase", 1, "again"),
        ("restore", 1, ""),
        ("remember", {"content": "two", "type": "fact"}),
    ],
    chunk=1,
)
async def test_whatever_happened_comes_back(brain: Brain, steps: Sequence[tuple[Any, ...]], chunk: int) -> None:
    """`chunk` is the number of rows per transaction of an import: small ones separate a line from what it refers to."""
    keep_ids(brain)
    await brain.store._database.write(forget_everything)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(importing, "BULK_ROWS", chunk)
        key = await brain.key(await brain.new_workspace(), "ada", permissions=EVERYTHING)
        async with http(brain.app(), key) as client:
            history = History(brain, client)
            for step in itertools.chain(steps, [("move",)]):
                await history.step(*step)


async def test_nothing_is_said_of_what_was_erased(brain: Brain) -> None:
    """Whatever a file contains: the line of an erased memory holds only the proof, and so does its history."""
    proof = {
        name: value
        for name, value in memory_line("", reason="erased", deleted_at=TIMES["created_at"]).items()
        if name != "content"
    }
    said = {
        "content": "a",
        "project": "a",
        "speaker": "a",
        "turn": 1,
        "tags": ["a"],
        "metadata": {"a": 1},
        "source": "a",
    }
    told: Line = {
        "kind": "history",
        "memory_id": proof["id"],
        "version": 1,
        "revision": 1,
        "actor": "eve",
        "at": TIMES["created_at"],
    }
    lines = [
        HEADER,
        *({**proof, "id": unknown_id(), name: value} for name, value in said.items()),
        *({**memory_line("", reason=reason), "id": unknown_id()} for reason in ("forgotten", "expired", None)),
        proof,
        {**told, "action": "created"},
        {**told, "action": "updated", "after": {"content": "a"}},
        {**told, "action": "forgotten", "note": "a"},
        {**told, "action": "erased", "after": {"reason": "erased", "content": "a"}},
        {**told, "action": "erased", "after": {"reason": "erased"}, "note": "asked to"},
    ]
    async with http(brain.app(), await admin(brain, "w2", "eve")) as eve:
        answer = await take_in(eve, as_file(lines))
        copy = await export(eve)

    assert [each["field"] for each in answer["refusals"]] == [*said, "content", "content", "content"]
    assert (answer["created"], answer["history"]) == (1, 2)
    assert [each["id"] for each in of_kind(copy, "memory")] == [proof["id"]]
    assert [(each["action"], each["note"]) for each in of_kind(copy, "history")] == [
        ("created", ""),
        ("erased", "asked to"),
    ]
