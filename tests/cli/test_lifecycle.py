"""prune, undo and review, as a person types them, with a housekeeper running."""

import asyncio
import contextlib
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from openbrain.domain.access.permissions import Permission
from openbrain.domain.errors import Forbidden, Invalid, Outdated, SetupError
from openbrain.domain.memory import DAY
from openbrain.ports.lifecycle import PolicyDocument
from openbrain_housekeeper.jobs.operations import Worker
from tests.api.memories.test_cleaning import worker as cleaning_worker
from tests.api.memories.test_ending import worker as ending_worker
from tests.support.api.brain import Brain, http, remembered
from tests.support.cli.typed_json import Terminal, terminal
from tests.support.store.lifecycle_worker import wired_worker

__all__ = ["terminal"]


@asynccontextmanager
async def housekeeper(brain: Brain, worker: Worker | None = None) -> AsyncIterator[None]:
    one = worker or wired_worker(brain)

    async def work() -> None:
        while True:
            await asyncio.sleep(0 if await one.round() else 0.01)

    task = asyncio.create_task(work())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


@pytest.mark.parametrize("name", ["prune", "brain:prune"])
async def test_it_prunes_only_with_yes_and_takes_it_back(name: str, brain: Brain, terminal: Terminal) -> None:
    key = await brain.key(permissions=frozenset(Permission))
    async with http(brain.app(), key) as client:
        (unsure,) = await remembered(client, "unsure", confidence=0.29, tags=["a"])
        await remembered(client, "sure", confidence=0.3, tags=["a"])
        brain.clock.advance(10 * DAY)
        command = (name, "--min-confidence", "0.3", "--tag", "a", "--older-than", "1w")
        async with housekeeper(brain):
            _, looked_at, _ = await terminal.run(key, *command)
            _, dry, _ = await terminal.run(key, *command, "--yes", "--dry-run")
            assert (await client.get("/v1/brain/list")).json()["count"] == 2
            code, done, _ = await terminal.run(key, *command, "--yes")
            assert (await client.get("/v1/brain/list")).json()["count"] == 1
            _, archived, _ = await terminal.run(key, "list", "--include-archived")
            _, back, _ = await terminal.run(key, "undo", done["id"])
        assert (await client.get("/v1/brain/list")).json()["count"] == 2

    assert (code, done["status"], done["result"]["archived"]) == (0, "done", 1)
    assert looked_at["result"] == dry["result"] == done["result"]
    assert [each["id"] for each in done["result"]["examples"]] == [unsure]
    assert archived["count"] == 2
    assert back["result"] == {"undone": 1}


@pytest.mark.parametrize("command", [("dedupe",), ("brain:consolidate", "--threshold=0.9")])
async def test_doubles_are_merged_only_with_yes_and_come_back(
    command: tuple[str, ...], brain: Brain, terminal: Terminal
) -> None:
    key = await brain.key(permissions=frozenset(Permission))
    async with http(brain.app(), key) as client:
        await remembered(client, "Deploys are on Tuesdays at 9", "Note: deploys are on Tuesdays at 9.", project="shop")
        await brain.settle()
        command = (*command, "--project=shop")
        async with housekeeper(brain):
            _, looked_at, _ = await terminal.run(key, *command, "--dry-run")
            assert (await client.get("/v1/brain/list")).json()["count"] == 2
            code, done, _ = await terminal.run(key, *command, "--yes")
            assert (await client.get("/v1/brain/list")).json()["count"] == 1
            await terminal.run(key, "undo", done["id"])
        assert (await client.get("/v1/brain/list")).json()["count"] == 2

    assert (code, done["result"]["archived"]) == (0, 1)
    assert looked_at["result"] == done["result"]
    with pytest.raises(Forbidden):
        await terminal.run(await brain.key(), *command)


@pytest.mark.parametrize("name", ["clean", "brain:clean"])
async def test_personal_data_is_cleaned_only_with_yes_and_never_shown(
    name: str, brain: Brain, terminal: Terminal
) -> None:
    key = await brain.key(permissions=frozenset(Permission))
    async with http(brain.app(), key) as client:
        (one,) = await remembered(client, "ask anna@example.com", project="shop")
        command = (name, "--strip-pii", "--project", "shop")
        async with housekeeper(brain, cleaning_worker(brain)):
            _, looked_at, _ = await terminal.run(key, *command)
            assert "anna@" in (await client.get(f"/v1/brain/memories/{one}")).text
            code, done, _ = await terminal.run(key, *command, "--yes")
        assert "anna@" not in (await client.get(f"/v1/brain/memories/{one}")).text

    assert (code, done["result"]["cleaned"]) == (0, 1)
    assert looked_at["result"]["found"] == done["result"]["found"] == {"content: email": 1, "history: email": 1}
    assert "anna" not in str(looked_at) + str(done)
    with pytest.raises(Invalid, match="--strip-pii, --strip-secrets, --normalise"):
        await terminal.run(key, name, "--yes")
    with pytest.raises(Forbidden):
        await terminal.run(await brain.key(), *command)


async def test_an_agents_messages_and_signals_are_exported_and_erased_with_what_it_remembers(
    brain: Brain, terminal: Terminal, tmp_path: Path
) -> None:
    everything = frozenset(Permission)
    admin, eve = await brain.key(permissions=everything), await brain.key(agent="eve", permissions=everything)
    await terminal.run(eve, "remember", "The quay is closed.")
    await terminal.run(eve, "messages", "send", "bob", "the quay is closed")
    await terminal.run(eve, "signals", "raise", "the quay burns", "--source", "harbour")
    subject = ("--agent", "eve")

    _, looked, _ = await terminal.run(admin, "export", *subject, "--dry-run")
    _, exported, _ = await terminal.run(admin, "export", str(tmp_path / "eve.ndjson"), *subject)
    _, would, _ = await terminal.run(admin, "erase", *subject, "--dry-run")
    async with housekeeper(brain, ending_worker(brain)):
        _, done, _ = await terminal.run(admin, "erase", *subject, "--yes")

    text = (tmp_path / "eve.ndjson").read_text(encoding="utf-8")
    assert [each in text for each in ("The quay is closed.", "the quay is closed", "the quay burns")] == [True] * 3
    assert (looked["count"], looked["beside"]) == (would["count"], would["beside"]) == (1, 2)
    assert (exported["memories"], exported["beside"]) == (1, 2)
    assert done["operation"]["result"] == {"erased": 1, "beside": 2}


async def test_what_is_old_and_unused_is_reviewed(brain: Brain, terminal: Terminal) -> None:
    key = await brain.key()
    async with http(brain.app(), key) as client:
        (old,) = await remembered(client, "old")
        brain.clock.advance(100 * DAY)
        await remembered(client, "young")
    _, found, _ = await terminal.run(key, "review", "--days", "90")

    assert [each["id"] for each in found["memories"]] == [old]
    with pytest.raises(Forbidden):
        await terminal.run(key, "prune", "--max-confidence", "0.5")
    with pytest.raises(Invalid, match="older-than"):
        await terminal.run(key, "prune", "--older-than", "soon")
    with pytest.raises(Invalid, match="at least one of --max-effective-confidence,"):
        await terminal.run(await brain.key(permissions=frozenset(Permission)), "prune")


async def test_policies_are_shown_and_edited(brain: Brain, terminal: Terminal, tmp_path: Path) -> None:
    key = await brain.key(permissions=frozenset(Permission))
    file, editor = tmp_path / "policy.json", tmp_path / "editor"
    file.write_text('{"legal_hold": [{"project": "trial"}]}')
    editor.write_text("#!/bin/sh\nsed -i s/trial/case/ $1\n")
    editor.chmod(0o700)

    _, nothing, _ = await terminal.run(key, "policy", "show")
    _, first, _ = await terminal.run(key, "policy", "edit", "--file", str(file))
    _, second, _ = await terminal.run(key, "policy", "edit", VISUAL=str(editor))
    _, shown, _ = await terminal.run(key, "policy", "show")
    _, kept, _ = await terminal.run(key, "retention", "--show")
    with pytest.raises(SetupError, match="set EDITOR"):
        await terminal.run(key, "policy", "edit", VISUAL=str(tmp_path / "none"))
    with pytest.raises(Invalid, match="no terminal for an editor"):
        await terminal.run(key, "policy", "edit", VISUAL="", EDITOR="")
    file.write_text("[]")
    with pytest.raises(Invalid, match="JSON object"):
        await terminal.run(key, "policy", "edit", "--file", str(file))

    assert nothing == {"policies": [], "legal_hold": [], "retention": {}}
    assert first == {"policies": [], "legal_hold": [{"project": "trial"}], "retention": {}}
    assert second == shown == {"policies": [], "legal_hold": [{"project": "case"}], "retention": {}}
    assert (kept["held"], kept["kept"][0]) == (True, {"what": "forgotten_days", "days": None, "by": "settings"})


async def test_an_edited_policy_does_not_overwrite_that_of_another(
    brain: Brain, terminal: Terminal, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    key, loop = await brain.key(permissions=frozenset(Permission)), asyncio.get_running_loop()
    hold = PolicyDocument(workspace_id="w1", given={"legal_hold": [{"project": "trial"}]})

    def edited(words: list[str], *, check: bool) -> subprocess.CompletedProcess[str]:
        asyncio.run_coroutine_threadsafe(brain.store.policies.set_document(hold), loop).result()
        Path(words[-1]).write_text('{"policies": []}')
        return subprocess.CompletedProcess(words, int(check))

    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr("openbrain_cli.operators.lifecycle.policy.subprocess.run", edited)
    with pytest.raises(Outdated, match="read them again"):
        await terminal.run(key, "policy", "edit", VISUAL="vi")

    stands = await brain.store.policies.document("w1")
    assert stands is not None
    assert stands.given == hold.given


async def test_an_edited_policy_that_can_not_be_used_is_kept(
    brain: Brain, terminal: Terminal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = await brain.key(permissions=frozenset(Permission))
    places, editor = tmp_path / "tmp", tmp_path / "editor"
    places.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(places))
    for text in ("{half", '{"policies": 5}', '{"legal_hold": []}'):
        editor.write_text(f"#!/bin/sh\nprintf '%s' '{text}' > $1\n")
        editor.chmod(0o700)
        with contextlib.suppress(Invalid):
            await terminal.run(key, "policy", "edit", VISUAL=str(editor))

    kept = {file.read_text(): file for file in places.glob("*/policy.json")}
    assert kept.keys() == {"{half", '{"policies": 5}'}
    assert [file.parent.stat().st_mode & 0o77 for file in kept.values()] == [0, 0]
