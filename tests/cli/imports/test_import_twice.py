"""Importing the same files into a real API repeatedly."""

import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from openbrain.client import OpenBrain
from openbrain.domain.errors import TryLater
from openbrain_cli.importers.execution import upload
from openbrain_cli.importers.execution.plan import Action, Plan, Target, plan
from openbrain_cli.importers.execution.upload import Sent
from openbrain_cli.importers.locations.scanning import Client, look
from tests.support.api.brain import Brain
from tests.support.cli.memory_samples import homes, lay_out

ANYWHERE = Target()


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return lay_out(tmp_path / "home")


class Cut(httpx.ASGITransport):
    """Loses the connection after `left` requests: the answer of the last one never arrives."""

    left = 1_000_000

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        self.left -= 1
        response = await super().handle_async_request(request)
        if self.left < 0:
            raise httpx.ReadError("cut")
        return response


@pytest.fixture
async def transport(brain: Brain) -> Cut:
    return Cut(brain.app())


@pytest.fixture
async def client(brain: Brain, transport: Cut) -> AsyncIterator[OpenBrain]:
    async with OpenBrain("http://brain", await brain.key(), attempts=1, transport=transport) as opened:
        yield opened


async def imported(
    client: OpenBrain, home: Path, target: Target = ANYWHERE, which: Client = Client.AUTO
) -> tuple[Plan, Sent]:
    made = plan(look([], homes(home), which), await upload.existing(client), target)
    return made, await upload.send(client, made, target, lambda done: None)


async def contents(client: OpenBrain) -> dict[str, str]:
    return {each.id: each.content for each in (await client.memories(limit=100)).memories}


async def test_the_second_run_stores_nothing_new(client: OpenBrain, home: Path) -> None:
    plan_1, sent_1 = await imported(client, home)
    there = await contents(client)
    plan_2, sent_2 = await imported(client, home)

    assert sent_1.created == len(plan_1.steps) == len(there) > 35
    assert {step.action for step in plan_2.steps} == {Action.UNCHANGED}
    assert (sent_2.created, sent_2.superseded, sent_2.refiled, sent_2.known) == (0, 0, 0, 0)
    assert await contents(client) == there


async def test_on_another_machine_with_an_emptied_history_too(client: OpenBrain, home: Path, tmp_path: Path) -> None:
    await imported(client, home)
    there = await contents(client)
    elsewhere = lay_out(tmp_path / "Users" / "ada")
    for session in elsewhere.rglob("*.jsonl"):
        session.unlink()
    made, _ = await imported(client, elsewhere)

    assert {step.action for step in made.steps} == {Action.UNCHANGED}
    assert await contents(client) == there


async def test_an_edited_section_supersedes_and_the_rest_stays(client: OpenBrain, home: Path) -> None:
    await imported(client, home)
    before = await contents(client)
    file = home / "src" / "shop" / "AGENTS.md"
    file.write_text(file.read_text().replace("make seed", "make seed ONLY=ledger"))
    made, sent = await imported(client, home)
    after = await contents(client)

    assert (sent.superseded, sent.created) == (1, 0)
    assert [step.found.heading for step in made.of(Action.SUPERSEDE)] == ["Setup commands"]
    (old,) = before.keys() - after.keys()
    (new,) = after.keys() - before.keys()
    chain = await client.memory(new, history=True)
    assert chain.supersedes_id == old
    assert "ONLY=ledger" in chain.content
    assert (chain.project, chain.metadata["import"]["heading"]) == ("shop", "Setup commands")
    assert (await imported(client, home))[0].of(Action.SUPERSEDE, Action.CREATE) == []


async def test_a_vanished_section_is_reported_and_left(client: OpenBrain, home: Path) -> None:
    await imported(client, home)
    there = await contents(client)
    (home / "src" / "shop" / "services" / "api" / "AGENTS.md").unlink()
    made, sent = await imported(client, home)

    assert [old.key[2] for old in made.vanished] == ["API service"]
    assert (sent.created, sent.superseded) == (0, 0)
    assert await contents(client) == there


async def test_a_run_that_broke_is_finished_by_the_next(client: OpenBrain, transport: Cut, home: Path) -> None:
    """Also if the server stored a batch whose answer was lost."""
    sending_size, upload.BATCH = upload.BATCH, 7
    try:
        transport.left = 4
        with pytest.raises(TryLater):
            await imported(client, home)
        transport.left = 1_000_000
        broken = await contents(client)
        made, sent = await imported(client, home)
    finally:
        upload.BATCH = sending_size

    assert 0 < len(broken) < len(made.steps)
    assert sent.created == len(made.steps) - len(broken)
    assert broken.items() <= (await contents(client)).items()
    assert {step.action for step in (await imported(client, home))[0].steps} == {Action.UNCHANGED}


async def test_the_same_text_twice_is_one_memory_however_often(client: OpenBrain, home: Path) -> None:
    shop = home / "src" / "shop"
    shutil.copyfile(shop / "AGENTS.md", shop / "CLAUDE.md")
    plan_1, sent_1 = await imported(client, home)
    plan_2, sent_2 = await imported(client, home)

    assert len(plan_1.of(Action.DUPLICATE)) == len(plan_2.of(Action.DUPLICATE)) == 3
    assert sent_1.created == len(plan_1.of(Action.CREATE))
    assert plan_2.of(Action.CREATE, Action.SUPERSEDE, Action.REFILE) == []
    assert sent_2.created == 0


async def test_what_a_person_remembered_already_is_not_stored_again(client: OpenBrain, home: Path) -> None:
    found = look([home / ".codex" / "AGENTS.md"], homes(home)).found[0]
    await client.remember({"content": found.content, "type": "fact", "memory_scope": found.scope})
    for _ in range(2):
        _, sent = await imported(client, home, which=Client.AGENTS)
        assert sent.known == 1
    assert list((await contents(client)).values()).count(found.content) == 1


async def test_a_moved_section_keeps_its_memory_and_is_superseded_when_it_is_edited_later(
    client: OpenBrain, home: Path
) -> None:
    await imported(client, home)
    memory = home / ".claude/projects/-home-ada-src-shop/memory"
    (memory / "debugging.md").rename(memory / "pitfalls.md")
    made, sent = await imported(client, home)
    assert (sent.refiled, sent.created, made.vanished) == (2, 0, ())

    file = memory / "pitfalls.md"
    file.write_text(file.read_text().replace("Restart it", "Never restart it"))
    _, sent = await imported(client, home)

    assert (sent.superseded, sent.created) == (1, 0)


async def test_what_was_changed_in_the_brain_stays_until_the_file_changes(client: OpenBrain, home: Path) -> None:
    await imported(client, home)
    (laptop,) = [each for each in (await client.memories(limit=100)).memories if "corporate proxy" in each.content]
    await client.update(laptop.id, tags=[*laptop.tags, "mine"], content="Edited by hand.")
    made, _ = await imported(client, home)

    assert {step.action for step in made.steps} == {Action.UNCHANGED}
    assert (await client.memory(laptop.id)).content == "Edited by hand."


async def test_org_and_project_of_the_command_line_hold(client: OpenBrain, home: Path) -> None:
    target = Target(org="acme", project="all")
    _, sent = await imported(client, home, target)
    again, _ = await imported(client, home, target)
    memories = (await client.memories(limit=100)).memories

    assert sent.created == len(memories)
    assert {(each.org, each.project) for each in memories} == {("acme", "all")}
    assert {step.action for step in again.steps} == {Action.UNCHANGED}


async def test_more_than_a_page_of_memories(client: OpenBrain, home: Path) -> None:
    notes = home / "auto-memory"
    for number in range(60):
        (notes / f"note{number}.md").write_text("".join(f"# H{part}\nnote {number}.{part}\n" for part in range(4)))
    plan_1, sent_1 = await imported(client, home)
    plan_2, _ = await imported(client, home)

    assert sent_1.created == len(plan_1.steps) > 250
    assert {step.action for step in plan_2.steps} == {Action.UNCHANGED}
