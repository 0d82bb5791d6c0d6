"""What an answer says about itself: its id, the parts of each score, and what is recorded of it."""

import orjson
import pytest
from starlette.applications import Starlette

from openbrain.contract.brain.recall import Recalled
from openbrain.domain.ids import uuid7
from tests.support.api.brain import Brain, http, refused
from tests.support.store.fixtures import rows

RECALL = "/v1/brain/recall"


async def remembered(brain: Brain, app: Starlette, key: str, *contents: str) -> None:
    async with http(app, key) as client:
        for content in contents:
            (await client.post("/v1/brain/remember", json={"content": content, "type": "fact"})).raise_for_status()
    await brain.settle()


async def test_scores_are_explained_part_by_part(brain: Brain) -> None:
    app, key = brain.app(), await brain.key()
    await remembered(brain, app, key, "The heron fishes at the weir.", "A weir holds the river.", "Bread needs salt.")
    ask = {"query": "heron at the weir", "explain": True, "keywords": ["heron"], "boost_keywords": 0.3}
    async with http(app, key) as client:
        answer = (await client.post(RECALL, json=ask)).json()
        plain = (await client.post(RECALL, json={**ask, "explain": False})).json()

    told = Recalled.model_validate(answer)
    assert told.explained is not None
    assert set(told.explained) == set(told.scores)
    for memory in told.memories:
        parts = told.explained[memory.id]
        shares = [part.weight * part.normalised for part in (parts.text, parts.vectors) if part is not None]
        assert parts.fused == pytest.approx(sum(shares))
        boost = 0.3 if "heron" in memory.content else 0.0
        late = parts.late
        assert late is not None
        mixed = (1 - late.weight) * parts.fused + late.weight * late.normalised
        assert parts.boosted == pytest.approx(mixed + boost)
        top = told.memories[0].score
        assert top is not None
        assert memory.score == pytest.approx(top - parts.bucket * 0.02, abs=2e-4), "in whole buckets"
        assert (memory.score or 0) >= parts.boosted - 1e-4
        assert parts.effective_confidence == pytest.approx(1.0)
    best = told.explained[told.memories[0].id]
    assert best.bucket == 0
    assert best.text is not None
    assert best.text.rank == 1
    assert [each["id"] for each in plain["memories"]] == [each.id for each in told.memories]
    assert "explained" not in plain


async def test_keywords_alone_carry_the_whole_weight(brain: Brain) -> None:
    app, key = brain.app(), await brain.key()
    await remembered(brain, app, key, "The heron fishes at the weir.")
    async with http(app, key) as client:
        answer = await client.post(RECALL, json={"query": "heron", "explain": True, "text_weight": 1})

    (parts,) = Recalled.model_validate_json(answer.content).explained.values()  # type: ignore[union-attr]
    assert parts.vectors is None
    assert parts.text is not None
    assert (parts.text.weight, parts.fused) == (1.0, 1.0)


async def test_explain_must_be_a_boolean(brain: Brain) -> None:
    async with http(brain.app(), await brain.key()) as client:
        refused(await client.post(RECALL, json={"query": "x", "explain": "yes"}), 422, "explain")


@pytest.mark.parametrize("keeps", [False, True])
async def test_every_answer_is_kept_and_announced_without_the_question_unless_so_set(brain: Brain, keeps: bool) -> None:
    recall = brain.settings.recall.model_copy(update={"keep_queries": keeps})
    brain.settings = brain.settings.model_copy(update={"recall": recall})
    app, key = brain.app(), await brain.key()
    await remembered(brain, app, key, "The heron fishes at the weir.")
    async with http(app, key) as client:
        first = (await client.post(RECALL, json={"query": "where does the heron fish?"})).json()
        second = (await client.post(RECALL, json={"query": "nothing", "org": "nobody"})).json()
    async with app.router.lifespan_context(app):
        pass  # leaving the block writes what waits

    kept = {row["id"]: row for row in await rows(brain.store._database, "SELECT * FROM recalls")}
    assert set(kept) == {first["recall_id"], second["recall_id"]}
    record = kept[first["recall_id"]]
    assert orjson.loads(record["results"]) == [[memory_id, score] for memory_id, score in first["scores"].items()]
    assert (record["workspace_id"], record["agent_id"]) == ("w1", "ada")
    assert {bool(row["query"]) for row in kept.values()} == {keeps}
    events = [entry for entry in await brain.store.outbox.take(10) if entry.stream == "memory.recalled"]
    assert len(events) == 2
    assert (b"heron" in events[0].body) is keeps
    assert first["recall_id"] > uuid7(0)
