"""Every kind of file into a real API: a second import stores nothing, an edit supersedes once, removed items are only
reported."""

from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from openbrain.client import OpenBrain
from openbrain_cli.importers.execution import upload
from openbrain_cli.importers.execution.plan import Action, Plan, Target, plan
from openbrain_cli.importers.execution.spill_file import SpillFile
from openbrain_cli.importers.execution.upload import Sent
from openbrain_cli.importers.locations.scanning import Client, Wanted, gather, sources
from tests.support.api.brain import Brain
from tests.support.cli.import_samples import ALL, Sample, homes, lay_out

each_kind = pytest.mark.parametrize("sample", ALL, ids=[each.client for each in ALL])


@pytest.fixture
async def client(brain: Brain) -> AsyncIterator[OpenBrain]:
    transport = httpx.ASGITransport(brain.app())
    async with OpenBrain("http://brain", await brain.key(), attempts=1, transport=transport) as opened:
        yield opened


async def imported(
    client: OpenBrain, home: Path, path: Path, kind: Client = Client.AUTO, *, dry_run: bool = False
) -> tuple[Plan, Sent]:
    with SpillFile() as spill_file:
        scan = gather(sources([path], Wanted(homes=homes(home), client=kind)), kind, put_away=spill_file.put)
        made = plan(scan, await upload.existing(client), Target())
        if dry_run:
            return made, Sent()
        return made, await upload.send(client, made, Target(), lambda done: None)


async def contents(client: OpenBrain) -> dict[str, str]:
    return {each.id: each.content for each in (await client.memories(limit=100)).memories}


@each_kind
async def test_twice_edited_and_gone(sample: Sample, client: OpenBrain, tmp_path: Path) -> None:
    path = lay_out(sample, tmp_path)
    dry, _ = await imported(client, tmp_path, path, dry_run=True)
    assert await contents(client) == {}

    first, sent = await imported(client, tmp_path, path)
    assert [step.found.key for step in dry.steps] == [step.found.key for step in first.steps]
    assert (sent.created, sent.refused) == (sample.sections, [])
    there = await contents(client)

    second, sent = await imported(client, tmp_path, path)
    assert {step.action for step in second.steps} == {Action.UNCHANGED}
    assert (second.vanished, sent) == ((), Sent())
    assert await contents(client) == there

    edited = sample.edited(tmp_path)
    edited.write_bytes(edited.read_bytes().replace(sample.before.encode(), sample.after.encode()))
    third, sent = await imported(client, tmp_path, path)
    assert (sent.superseded, sent.created, sent.refiled, third.vanished) == (1, 0, 0, ())
    (new,) = (await contents(client)).keys() - there.keys()
    found = await client.memory(new, history=True)
    assert sample.after in found.content
    assert sample.before in there[str(found.supersedes_id)]

    standing = await contents(client)
    if edited != path:
        edited.unlink()
        last, sent = await imported(client, tmp_path, path, Client(sample.client))
        assert found.metadata["import"]["heading"] in {old.key[2] for old in last.vanished}
        assert sent == Sent()
    assert await contents(client) == standing


async def test_a_conversation_is_stored_turn_by_turn(client: OpenBrain, tmp_path: Path) -> None:
    sample = next(each for each in ALL if each.client == "chatgpt")
    await imported(client, tmp_path, lay_out(sample, tmp_path))
    turns = [each for each in (await client.memories(limit=100)).memories if each.session_id == "c-0001"]

    assert sorted((each.turn, each.speaker) for each in turns) == [
        (1, "user"),
        (2, "assistant"),
        (3, "assistant"),
        (5, "user"),
    ]
