"""Arcs of a vault over HTTP: found by words, read by id, visible within their workspace."""

from pathlib import Path
from typing import Any

import pytest

from openbrain.domain.access.permissions import Permission
from openbrain_api.vaults import arc_meanings
from tests.support.api.brain import Brain, http
from tests.support.api.vault import client
from tests.support.waiting import PATIENCE_S

PAGE = """---
cluster_id: {name}
title: {title}
region: left-hemisphere
status: {status}
heat: {heat}
project: {project}
summary: {summary}
created: 2026-01-02T10:00:00Z
---
# {title}

{body}
"""


def arc(vault: Path, path: str, **told: object) -> None:
    said = {"title": "Untitled", "status": "active", "heat": 5, "project": "shop", "summary": "", "body": ""} | told
    (vault / path).parent.mkdir(parents=True, exist_ok=True)
    (vault / path).write_text(PAGE.format(name=Path(path).stem, **said), "utf-8")


@pytest.fixture
def arcs(vault: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # On a busy machine a model takes longer to load than an answer waits for it.
    monkeypatch.setattr(arc_meanings, "WAIT_S", PATIENCE_S)
    arc(vault, "left/2026-01-02-broker-aaa.md", title="The broker moved", body="The queue of payments fell behind.")
    arc(vault, "clusters/2026-01-03/2026-01-03-queue-bbb.md", title="Queue limits", heat=8, project="depot")
    arc(vault, "clusters/2026-01-03/2026-01-03-cold-ccc.md", title="A cold queue", heat=1)
    arc(vault, "clusters/2026-01-03/2026-01-02-broker-aaa.md", title="An older copy of the broker")
    (vault / "clusters/2026-01-03/_dashboard.md").write_text("# the queue\n", "utf-8")
    (vault / "left/broken.md").write_bytes(b"\xff queue")


async def test_arcs_are_found_by_words_title_before_text(kept: Brain, arcs: None) -> None:
    async with await client(kept) as ada:

        async def found(**query: Any) -> list[tuple[str, float]]:
            told = (await ada.get("/vault/arcs", params=query)).json()
            assert told["complete"]
            assert told["count"] == len(told["arcs"])
            return [(each["arc_id"], each["score"]) for each in told["arcs"]]

        queue = await found(q="The QUEUE?")
        both = await found(q="broker payments")
        cold = await found(q="queue", min_heat=0)
        depot = await found(q="queue", project="depot")
        first = await found(q="queue", limit=1)
        none = await found(q="nowhere")
        strict = await found(q="broker payments", min_score=0.95)

    assert {each for each, _ in queue} == {"2026-01-02-broker-aaa", "2026-01-03-queue-bbb"}
    assert [each for each, _ in both] == ["2026-01-02-broker-aaa"]
    assert [each for each, _ in cold] == ["2026-01-03-queue-bbb", "2026-01-03-cold-ccc", "2026-01-02-broker-aaa"]
    assert depot == [("2026-01-03-queue-bbb", 1.0)]
    assert first == depot
    assert none == strict == []


async def test_thousands_of_comments_without_an_end_are_looked_at_once(kept: Brain, vault: Path) -> None:
    """Each was searched for its end: more than ten minutes, in which the API answered nobody."""
    arc(vault, "left/2026-01-04-odd-ddd.md", title="Odd", body="<!--" * 150_000)
    async with await client(kept) as ada:
        found = (await ada.get("/vault/arcs", params={"q": "odd"})).json()
    assert [each["arc_id"] for each in found["arcs"]] == ["2026-01-04-odd-ddd"]


BILLED = {"title": "Customers were billed two times", "summary": "A retry of the checkout charged the card again."}
CACHED = {"title": "Faster builds in CI", "summary": "Docker layers are kept between runs."}
BY_MEANING = {"people paid twice for one order": "billed", "why does compiling take so long": "cached"}


@pytest.mark.parametrize("token_states", [True, False])
async def test_arcs_are_found_by_meaning_where_there_are_token_states(
    kept: Brain, vault: Path, arcs: None, token_states: bool
) -> None:
    arc(vault, "left/2026-01-04-billed.md", **BILLED)
    arc(vault, "clusters/2026-01-04/2026-01-04-cached.md", **CACHED)
    app = kept.app() if token_states else kept.app(token_encoder=None)
    async with http(app, await kept.key()) as ada:

        async def found(question: str) -> list[str]:
            told = (await ada.get("/vault/arcs", params={"q": question})).json()
            assert told["complete"]
            return [each["arc_id"] for each in told["arcs"]]

        met = {question: await found(question) for question in BY_MEANING}
        nobody_knows = await found("a recipe for apple pie")
        (vault / "left/2026-01-04-billed.md").unlink()
        gone = await found("people paid twice for one order")

    if token_states:
        assert {question: ids[0] for question, ids in met.items()} == {
            question: f"2026-01-04-{name}" for question, name in BY_MEANING.items()
        }
    else:
        assert not any(met.values())
    assert nobody_knows == []
    assert "2026-01-04-billed" not in gone


async def test_one_arc_is_read_where_a_region_has_it(kept: Brain, arcs: None) -> None:
    async with await client(kept) as ada:
        told = (await ada.get("/vault/arcs/2026-01-02-broker-aaa")).json()
        missing = await ada.get("/vault/arcs/2026-01-02-nothing")
        outside = await ada.get("/vault/arcs/..%2F..%2Fetc%2Fpasswd")
    async with await client(kept, "w2") as bob:
        other = await bob.get("/vault/arcs/2026-01-02-broker-aaa")
    async with await client(kept, permissions=frozenset({Permission.BRAIN_READ})) as nobody:
        refused = [(await nobody.get(path)).status_code for path in ("/vault/arcs?q=x", "/vault/arcs/x")]

    assert (told["path"], told["title"], told["heat"]) == ("left/2026-01-02-broker-aaa.md", "The broker moved", 5)
    assert "payments fell behind" in told["content"]
    assert [missing.status_code, outside.status_code, other.status_code] == [404, 404, 404]
    assert refused == [403, 403]


@pytest.mark.parametrize(
    "query",
    [
        *({}, {"q": " "}, {"q": "?"}, {"q": "x" * 2001}),
        *({"q": "x", "limit": 51}, {"q": "x", "min_heat": 11}, {"q": "x", "min_score": 2}),
    ],
)
async def test_a_question_that_is_none_is_refused(kept: Brain, query: dict[str, Any]) -> None:
    async with await client(kept) as ada:
        refused = await ada.get("/vault/arcs", params=query)

    assert refused.status_code == 422
