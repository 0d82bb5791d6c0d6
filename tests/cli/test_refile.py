"""refile and backfill-org, as a person types them."""

import pytest

from openbrain.domain.errors import Invalid
from tests.support.api.brain import Brain, http, remembered
from tests.support.cli.typed_json import Terminal, terminal

__all__ = ["terminal"]


async def test_a_project_moves_and_what_is_there_already_stays(brain: Brain, terminal: Terminal) -> None:
    key = await brain.key()
    async with http(brain.app(), key) as client:
        first, second, twin = await remembered(client, "one", "two", "three", project="shop")
        await remembered(client, "three", project="api")
        await remembered(client, "else", project="site")
    command = ("refile", "--project", "shop", "--to-project", "api")

    _, dry, _ = await terminal.run(key, *command, "--dry-run")
    assert (dry["moved"], set(dry["sample"]), dry["dry_run"]) == (3, {first, second, twin}, True)
    code, done, _ = await terminal.run(key, *command)
    assert (code, done["moved"], done["duplicates"]) == (0, 2, 1)
    _, again, _ = await terminal.run(key, *command)
    assert (again["moved"], again["duplicates"]) == (0, 1)
    async with http(brain.app(), key) as client:
        listed = (await client.get("/v1/brain/list", params={"project": "api"})).json()["memories"]
        assert {each["content"] for each in listed} == {"one", "two", "three"}
        assert (await client.get("/v1/brain/list", params={"project": "site"})).json()["count"] == 1


async def test_nothing_is_moved_without_a_place_and_a_filter(brain: Brain, terminal: Terminal) -> None:
    key = await brain.key()

    for typed in (("--project", "shop"), ("--to-project", "api")):
        with pytest.raises(Invalid, match="say which memories"):
            await terminal.run(key, "refile", *typed)


@pytest.mark.parametrize("name", ["backfill-org", "brain:backfill-org"])
async def test_an_org_is_told_from_the_others_of_the_project(name: str, brain: Brain, terminal: Terminal) -> None:
    key = await brain.key()
    async with http(brain.app(), key) as client:
        await remembered(client, "known", project="shop", org="core")
        (old,) = await remembered(client, "from before", project="shop")
        (lost,) = await remembered(client, "unclear", project="site")
    dry = (await terminal.run(key, name, "--dry-run"))[1]
    assert (dry["moved"], dry["undecided"]) == (1, ["site"])

    assert (await terminal.run(key, name))[1]["moved"] == 1
    assert (await terminal.run(key, name, "--map", "site=lthn"))[1]["moved"] == 1
    assert (await terminal.run(key, name))[1]["moved"] == 0
    async with http(brain.app(), key) as client:
        orgs = [(await client.get(f"/v1/brain/memories/{each}")).json()["org"] for each in (old, lost)]
    assert orgs == ["core", "lthn"]
