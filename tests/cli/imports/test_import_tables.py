"""Tables of other stores into a real API, as a person types it: each row is accounted for, a repeat adds nothing,
chains are kept."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from openbrain.adapters.embedding.minilm import IDENTITY
from openbrain.domain.errors import Invalid, SetupError
from tests.support.api.brain import Brain, http
from tests.support.api.transfer import EVERYTHING, brain_database_url
from tests.support.cli import foreign_samples as samples
from tests.support.cli.foreign_stores import STORES
from tests.support.cli.typed_json import Terminal, terminal

__all__ = ["brain_database_url", "terminal"]


def counts(answer: dict[str, Any]) -> dict[str, int]:
    names = ("created", "present", "skipped", "lineage", "refused")
    return {name: answer[name] for name in names if answer[name]}


async def test_a_whole_table_with_its_chains_and_what_ended(brain: Brain, terminal: Terminal, tmp_path: Path) -> None:
    key = await brain.key("w1", "ada", permissions=EVERYTHING)
    path = str(samples.mysql(tmp_path / "dump.sql"))
    command = ("import", path, "--source-workspace", "1")

    _, dry, _ = await terminal.run(key, *command, "--dry-run")
    code, first, _ = await terminal.run(key, *command)
    assert counts(dry) == counts(first) == {"created": 7, "lineage": 2}
    assert (code, first["exact"], first["source"]["rows"], first["source"]["refused"]) == (1, True, 10, 3)

    _, again, _ = await terminal.run(key, *command)
    assert counts(again) in ({"present": 7}, {"present": 4, "skipped": 3})

    async with http(brain.app(), key) as client:
        new = (await client.get(f"/v1/brain/memories/{samples.NEW}", params={"history": "1"})).json()
        gone = (await client.get(f"/v1/brain/memories/{samples.GONE}")).json()
        listed = (await client.get("/v1/brain/list", params={"limit": "100"})).json()["memories"]
        assert (await client.get(f"/v1/brain/memories/{samples.FOREIGN}")).status_code == 404
    assert (new["supersedes_id"], new["org"], new["project"], new["agent_id"]) == (
        samples.OLD,
        "core",
        "shop",
        "virgil",
    )
    assert (new["confidence"], new["created_at"][:10]) == (0.7, "2026-03-04")
    assert (gone["state"], gone["deleted_at"][:10]) == ("deleted", "2026-03-05")
    assert {each["id"] for each in listed} == {samples.NEW, samples.ALONE, samples.LOOP_B, samples.ODD}


async def test_an_agent_takes_in_what_lives_as_its_own(brain: Brain, terminal: Terminal, tmp_path: Path) -> None:
    key = await brain.key("w1", "eve")
    path = str(samples.database(tmp_path / "brain.db"))

    code, answer, _ = await terminal.run(key, "import", path, "--source-workspace", "1")

    assert (code, counts(answer)) == (1, {"created": 4, "skipped": 3})
    async with http(brain.app(), key) as client:
        listed = (await client.get("/v1/brain/list")).json()["memories"]
    assert {each["agent_id"] for each in listed} == {"eve"}


async def test_vectors_beside_thoughts_are_taken_over_where_the_index_has_their_model(
    brain: Brain, terminal: Terminal, tmp_path: Path
) -> None:
    await brain.settle()
    texts = ("Deploy on Fridays? No.", "A note.", "Another.")
    vectors = [list(each) for each in await brain.embedder.embed(texts)]
    cells = (str(vectors[0]), vectors[1], "[0.1, oops]")  # as pgvector's dump and as JSON have them; and a broken one
    rows = [
        {"id": str(number), "content": text, "source": "manual", "metadata": {}, "created_at": "2026-03-01T10:00:00Z"}
        | {"embedding": cell}
        for number, (text, cell) in enumerate(zip(texts, cells, strict=True))
    ]
    path = tmp_path / "thoughts.ndjson"
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    key = await brain.key("w1", "ada", permissions=EVERYTHING)
    command = ("import", str(path), "--agent", "ada")

    _, dry, _ = await terminal.run(key, *command, "--dry-run", "--vectors-of", IDENTITY.name)
    _, other, _ = await terminal.run(key, *command, "--dry-run", "--vectors-of", "text-embedding-3-small")
    code, done, _ = await terminal.run(key, *command, "--vectors-of", IDENTITY.name)

    assert (code, done["created"], done["vectors"], done["vectors_left"]) == (0, 3, 2, 0)
    assert (dry["vectors"], other["vectors"], other["vectors_left"]) == (2, 0, 2)
    assert "text-embedding-3-small" in other["vectors_problem"]


async def test_only_thoughts_bring_vectors_along(brain: Brain, terminal: Terminal, tmp_path: Path) -> None:
    key = await brain.key("w1", "ada", permissions=EVERYTHING)
    table, notes = samples.mysql(tmp_path / "dump.sql"), tmp_path / "notes.md"
    notes.write_text("# Notes\n\nThe quay is closed.", encoding="utf-8")
    for path in (table, notes):
        with pytest.raises(Invalid, match="--vectors-of"):
            await terminal.run(key, "import", str(path), "--source-workspace", "1", "--vectors-of", "all-minilm")


async def test_thoughts_that_the_agent_has_already_stored(brain: Brain, terminal: Terminal, tmp_path: Path) -> None:
    key = await brain.key("w1", "ada")
    turn = {"content": "Deploy on Fridays? No.", "source": "openclaw:main", "metadata": {"sessionId": "s1", "turn": 3}}
    async with http(brain.app(), key) as client:
        await client.post("/v1/thoughts", json=turn)
    more = {"id": "8", "content": "A note.", "source": "manual", "metadata": {}, "created_at": "2026-03-01 10:00:00+00"}
    path = tmp_path / "thoughts.ndjson"
    path.write_text("\n".join(json.dumps(each) for each in ({**more, **turn, "id": "7"}, more)), encoding="utf-8")
    command = ("import", str(path), "--agent", "ada")

    _, first, _ = await terminal.run(key, *command)
    code, again, _ = await terminal.run(key, *command)

    assert counts(first) == {"created": 1, "present": 1}
    assert (code, counts(again)) == (0, {"present": 2})


async def test_a_living_database_is_read_and_its_password_never_told(
    brain: Brain, terminal: Terminal, tmp_path: Path
) -> None:
    key = await brain.key("w1", "ada", permissions=EVERYTHING)
    path = samples.database(tmp_path / "brain.db")
    before = path.read_bytes()

    _, answer, _ = await terminal.run(
        key, "import", "--source-workspace", "1", OPENBRAIN_IMPORT_DATABASE=f"sqlite:///{os.fspath(path)}"
    )
    assert counts(answer) == {"created": 7, "lineage": 2}
    assert path.read_bytes() == before
    with pytest.raises(SetupError, match="can't be reached") as unreached:
        await terminal.run(key, "import", "--database", "mysql://u:hunter2@127.0.0.1:1/brain")
    assert "hunter2" not in str(unreached.value)


@pytest.mark.parametrize("store", STORES)
async def test_every_store_twice(store: str, brain: Brain, terminal: Terminal, tmp_path: Path) -> None:
    make, memories, refused = STORES[store]
    key = await brain.key("w1", "ada", permissions=EVERYTHING)
    await brain.key("w2", "eve")
    command = ("import", str(make(tmp_path)), "--from", store)

    _, dry, _ = await terminal.run(key, *command, "--dry-run")
    code, first, _ = await terminal.run(key, *command)
    again = (await terminal.run(key, *command))[1]

    assert counts(dry) == counts(first) == {"created": memories}
    assert counts(again) == {"present": memories}
    assert (code, first["source"]["refused"]) == (int(refused > 0), refused)


async def test_a_table_goes_in_by_itself(brain: Brain, terminal: Terminal, tmp_path: Path) -> None:
    path = str(samples.database(tmp_path / "brain.db"))

    with pytest.raises(Invalid, match="separately"):
        await terminal.run(await brain.key(), "import", path, "--project", "shop")
