"""Personal data that was everywhere is nowhere after a clean: tables, streams, logs, files and vault are searched."""

import io
from collections.abc import AsyncIterator
from contextlib import redirect_stderr
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from openbrain.domain.events.streams import SUBMITTED, dead_letters
from openbrain.ports.content import Action
from openbrain.ports.store.tenants import WorkspaceChange
from openbrain.settings import Vaults
from tests.flow.conftest import Brain, started, usual
from tests.flow.privacy.test_erase import dead_letter, everywhere, filled, operation
from tests.support.vault.pages import Vault as Pages
from tests.support.vault.pages import page
from tests.support.waiting import until

NAME = "Xyzzyqwertzuiop"
"""A word that occurs nowhere else; lower case, and unchanged by stemming."""
MAIL = f"{NAME}@example.com"
CONTENT = f"The lock of the depot is kept by {MAIL}, ask there."
TODAY = datetime.now(UTC)
"""The pipeline's clock is real, and a tick moves arcs that are older than a week."""
PAGE = f"clusters/{TODAY:%Y-%m-%d}/lock.md"


@pytest.fixture
async def brain(tmp_path: Path) -> AsyncIterator[Brain]:
    """A system with a vault that contains the address."""
    pages = Pages(tmp_path / "data" / "vault")
    pages.write(PAGE, page("lock", f"Asked {MAIL} about it.", created=TODAY.isoformat()))
    settings = usual(tmp_path / "data").model_copy(update={"vaults": Vaults(folders={"default": pages.root})})
    async with started(settings) as begun:
        yield begun


async def clean(brain: Brain, **body: Any) -> dict[str, Any]:
    """Run a clean to its end and that of the purges that it queued."""
    begun = await brain.post("/v1/admin/lifecycle:clean", {"strip_pii": True, **body}, 202)
    done = await operation(brain, begun["operation"]["id"])

    async def purged() -> bool:
        queued = (await brain.http.get("/v1/admin/operations", params={"kind": "purge"})).json()["operations"]
        return all(each["finished_at"] for each in queued)

    await until(purged)
    return done


async def spread(brain: Brain) -> dict[str, str]:
    """Spread the address: submitted, refused, stored, changed, superseded, forgotten, sent and queried."""
    await brain.redis.config_set("rdbcompression", "no")  # so that its files can be searched
    await filled(brain)
    fields = {"title": MAIL, "tags": [MAIL, "depot"], "metadata": {"of": {MAIL: [MAIL]}}, "speaker": MAIL}
    await brain.submit("e-1", content=CONTENT, source=MAIL, **fields)

    async def stored() -> bool:
        return len(await brain.listed(limit=100)) == 31

    await until(stored)
    (first,) = await brain.listed(tags=MAIL)
    await dead_letter(brain, CONTENT)
    await dead_letter(brain, f"Nobody took the one of {MAIL}.")
    await brain.indexed(first)
    changed = await brain.http.patch(f"/v1/brain/memories/{first}", json={"content": f"{CONTENT} Or call."})
    assert changed.status_code == 200
    old = await brain.remember(f"Before, {MAIL} had the key.")
    new = await brain.remember("Nobody has the key.", supersedes=old)
    gone = await brain.remember(f"Forget {MAIL}.")
    assert (await brain.http.delete(f"/v1/brain/forget/{gone}", params={"reason": f"asked by {MAIL}"})).is_success
    await brain.post("/v1/messages/send", {"to": "bob", "agent_id": "ada", "content": f"Write to {MAIL}."}, 201)
    for memory_id in (first, new):
        await brain.indexed(memory_id)
    await brain.settled()
    return {"first": first, "old": old, "new": new, "gone": gone}


async def test_nothing_is_found_of_what_was_cleaned(brain: Brain, capsys: pytest.CaptureFixture[str]) -> None:
    ids = await spread(brain)
    before = await everywhere(brain, NAME)
    places = {"memories", "memory_history", "messages", SUBMITTED.name, dead_letters(SUBMITTED.name, "ingest")}
    assert places <= set(before)
    assert f"vault/{PAGE}" in before

    looked = await clean(brain)
    assert sorted(await everywhere(brain, NAME)) == sorted(before)
    err = io.StringIO()
    with redirect_stderr(err):
        done = await clean(brain, dry_run=False)

    async def nowhere() -> bool:
        return await everywhere(brain, NAME) == []

    try:
        await until(nowhere, pause=0.2)
    except TimeoutError:
        pytest.fail(f"still found in {await everywhere(brain, NAME)}: {done}")
    printed = capsys.readouterr()
    assert NAME not in printed.out + printed.err + err.getvalue() + str(looked) + str(done)
    same = ("cleaned", "found", "others", "pages", "examples")
    assert {name: looked["result"][name] for name in same} == {name: done["result"][name] for name in same}
    assert done["result"]["found"]["content: email"] == 3
    assert {"title: email", "tags: email", "metadata: email", "source: email", "history: email"} <= {
        *done["result"]["found"]
    }
    assert (done["result"]["cleaned"], done["result"]["pages"]) == (3, 1)
    # A purge may already have removed those that repeat a memory's text; of the other both the submission and the dead
    # letter are left.
    assert done["result"]["submissions"] >= 2

    first = await brain.memory(ids["first"], history=1)
    assert first["content"] == "The lock of the depot is kept by [redacted: email], ask there. Or call."
    assert (first["tags"], first["metadata"]) == (
        ["[redacted: email]", "depot"],
        {"of": {"[redacted: email]": ["[redacted: email]"]}},
    )
    assert [line["action"] for line in first["history"]] == ["created", "updated", "cleaned"]
    assert (await brain.memory(ids["gone"]))["state"] == "deleted"
    await brain.indexed(ids["first"])
    assert ids["first"] in await brain.recalled("who keeps the lock of the depot?")
    text = (brain.container.settings.data_dir / "vault" / PAGE).read_text(encoding="utf-8")
    assert "Asked [redacted: email] about it." in text

    again = await clean(brain, dry_run=False)
    assert (again["result"]["cleaned"], again["result"]["found"]) == (0, {})
    refused = await brain.http.post(f"/v1/admin/operations/{done['id']}:undo")
    assert (refused.status_code, "can't be undone" in refused.text) == (409, True)


async def test_a_workspace_that_hashes_is_cleaned_by_hashes(brain: Brain) -> None:
    await brain.container.store.workspaces.change_workspace("default", WorkspaceChange(personal_data=Action.OFF))
    memory_id = await brain.remember(f"{MAIL} and {MAIL}")
    await brain.container.store.workspaces.change_workspace("default", WorkspaceChange(personal_data=Action.HASH))

    await clean(brain, dry_run=False)

    one, _, other = (await brain.memory(memory_id))["content"].partition(" and ")
    assert one == other
    assert one.startswith("[email: ")
