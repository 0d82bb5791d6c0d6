"""Importing a file again after a dedupe does not store again what was archived in favour of another memory."""

import json
from pathlib import Path

import pytest

from openbrain.domain.access.permissions import Permission
from tests.cli.test_lifecycle import housekeeper
from tests.support.api.brain import Brain, http, remembered
from tests.support.cli.typed_json import Terminal, terminal

__all__ = ["terminal"]

TEXTS = "Deploys are on Tuesdays at 9", "Note: deploys are on Tuesdays at 9.", "The canary waits for ten minutes"


@pytest.mark.parametrize(
    ("kind", "there"), [("records", {"unchanged": 2, "already_known": 1}), ("export", {"present": 3})]
)
async def test_it_counts_duplicates_and_makes_no_second_copy(
    kind: str, there: dict[str, int], brain: Brain, terminal: Terminal, tmp_path: Path
) -> None:
    everything = frozenset(Permission)
    key, file = await brain.key("w1", permissions=everything), tmp_path / "notes.ndjson"
    async with (
        http(brain.app(), key) as client,
        http(brain.app(), await brain.key("w2", permissions=everything)) as other,
    ):
        await remembered(client, "What stood here before")
        if kind == "export":
            await remembered(other, *TEXTS)
            file.write_bytes((await other.get("/v1/brain/export")).content)
        else:
            file.write_text("".join(f"{json.dumps({'content': text})}\n" for text in TEXTS))
        _, first, _ = await terminal.run(key, "import", str(file))
        await brain.settle()
        async with housekeeper(brain):
            _, deduped, _ = await terminal.run(key, "dedupe", "--yes")
            before = (await client.get("/v1/brain/list")).json()["memories"]
            _, again, _ = await terminal.run(key, "import", str(file))
            after = (await client.get("/v1/brain/list")).json()["memories"]

    first, again = first.get("counts", first), again.get("counts", again)
    assert (first["created"], deduped["result"]["archived"]) == (3, 1)
    assert {name: again[name] for name in ("created", *there)} == {"created": 0, **there}
    assert [each["id"] for each in after] == [each["id"] for each in before]
    assert len(after) == 3
