"""refile and backfill-org, as a person types them, with a housekeeper running."""

import pytest

from openbrain.domain.access.permissions import Permission
from openbrain.domain.errors import Forbidden, Invalid
from tests.cli.test_lifecycle import housekeeper
from tests.support.api.brain import Brain, http, remembered
from tests.support.cli.typed_json import Terminal, terminal

__all__ = ["terminal"]


async def test_a_project_moves_and_an_undo_brings_it_back(brain: Brain, terminal: Terminal) -> None:
    key = await brain.key(permissions=frozenset(Permission))
    command = ("refile", "--project", "shop", "--to-project", "api")
    async with http(brain.app(), key) as client:
        await remembered(client, "one", "two", project="shop")
        async with housekeeper(brain):
            _, dry, _ = await terminal.run(key, *command, "--dry-run")
            assert (await client.get("/v1/brain/list", params={"project": "shop"})).json()["count"] == 2
            code, done, _ = await terminal.run(key, *command)
            assert (await client.get("/v1/brain/list", params={"project": "api"})).json()["count"] == 2
            await terminal.run(key, "undo", done["id"])
        assert (await client.get("/v1/brain/list", params={"project": "shop"})).json()["count"] == 2

    assert (code, done["result"]["rewritten"]) == (0, 2)
    assert dry["result"] == done["result"]
    for typed in (command[:3], (command[0], *command[3:])):
        with pytest.raises(Invalid, match="say which memories"):
            await terminal.run(key, *typed)
    with pytest.raises(Forbidden):
        await terminal.run(await brain.key(), *command)


async def test_memories_leave_their_project_for_none(brain: Brain, terminal: Terminal) -> None:
    key = await brain.key(permissions=frozenset(Permission))
    async with http(brain.app(), key) as client, housekeeper(brain):
        (moved,) = await remembered(client, "one", project="shop", org="core")
        _, done, _ = await terminal.run(key, "refile", "--project", "shop", "--to-project", "", "--to-org", "")
        memory = (await client.get(f"/v1/brain/memories/{moved}")).json()

    assert done["result"]["rewritten"] == 1
    assert (memory.get("project"), memory.get("org")) == (None, None)


@pytest.mark.parametrize("name", ["backfill-org", "brain:backfill-org"])
async def test_an_org_is_given_to_those_without(name: str, brain: Brain, terminal: Terminal) -> None:
    key = await brain.key(permissions=frozenset(Permission))
    async with http(brain.app(), key) as client, housekeeper(brain):
        await remembered(client, "known", project="shop", org="core")
        (old,) = await remembered(client, "from before", project="shop")
        (lost,) = await remembered(client, "unclear", project="site")
        _, dry, _ = await terminal.run(key, name, "--dry-run")
        _, done, _ = await terminal.run(key, name, "--map", "site=lthn")
        orgs = [(await client.get(f"/v1/brain/memories/{each}")).json()["org"] for each in (old, lost)]

    assert (dry["result"]["rewritten"], dry["result"]["undecided"]) == (1, ["site"])
    assert (done["result"]["rewritten"], orgs) == (2, ["core", "lthn"])
