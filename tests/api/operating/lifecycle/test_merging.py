"""Dedupe and consolidate through the API, by the housekeeper's own steps, on embedded indexes and the real model."""

import uuid
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
import pytest_asyncio

from openbrain.domain.access.permissions import Permission
from openbrain.domain.memory import DAY
from openbrain.ports.lifecycle import CONSOLIDATE, DEDUPE, UNDO
from openbrain.ports.models import Question, Thought
from openbrain_housekeeper.handlers.lifecycle.clustering import clusters, large
from tests.servers.mariadb_server import DATABASE
from tests.support.api.brain import Brain, http, refused, remembered
from tests.support.api.lifecycle.tenant import RISING, LifecycleTenant
from tests.support.store.fixtures import age_holds
from tests.support.store.mariadb import MariadbTables

pytestmark = pytest.mark.asyncio(loop_scope="module")

PATH = "/v1/admin/lifecycle:{}"
WORDINGS = (
    "The gateway drops idle connections after 30 s",
    "Note: the gateway drops idle connections after 30 seconds.",
    "After 30 s the gateway drops idle connections",
)
OTHERS = ("The gateway drops idle connections after 60 s", "The gateway doesn't drop idle connections after 30 s")


@pytest.fixture(scope="module", params=["sqlite", "mariadb"])
def module_database_url(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    if request.param == "sqlite":
        yield f"sqlite+aiosqlite:///{tmp_path_factory.mktemp('truth')}/truth.db"
        return
    made = MariadbTables(request.getfixturevalue("mariadb_server"), f"{DATABASE}_{uuid.uuid4().hex[:12]}")
    yield made.url
    made.drop()


class Model:
    """Gives a fixed answer; a real model's server would not repeat itself."""

    def __init__(self, answer: str) -> None:
        self.answer, self.asked = answer, list[Question]()

    async def reason(self, question: Question) -> Thought:
        self.asked.append(question)
        return Thought(text=self.answer, model="small")


class Tenant(LifecycleTenant):
    async def ran(self, job: str, reasoner: object = None, **body: Any) -> dict[str, Any]:
        return await self.ended(await self.admin.post(PATH.format(job), json=body), reasoner)

    async def unversioned(self) -> list[dict[str, Any]]:
        """Undoing a rewrite raises the version, so compare without it."""
        return await self.truth(RISING | {"version"})

    async def living(self) -> set[str]:
        listed = (await self.admin.get("/v1/brain/list", params={"limit": 100})).json()
        return {each["id"] for each in listed["memories"]}

    async def recalled(self, query: str) -> list[dict[str, Any]]:
        body = {"query": query, "precision": "recall", "fold": False}
        found: list[dict[str, Any]] = (await self.admin.post("/v1/brain/recall", json=body)).json()["memories"]
        return found


@pytest_asyncio.fixture(loop_scope="module")
async def tenant(module_brain: Brain) -> AsyncIterator[Tenant]:
    workspace = await module_brain.new_workspace()
    key = await module_brain.key(workspace, permissions=frozenset(Permission))
    async with http(module_brain.app(), key) as admin:
        yield Tenant(module_brain, workspace, admin)


async def test_the_best_of_those_that_say_the_same_stays(tenant: Tenant) -> None:
    ids = [
        (await remembered(tenant.admin, text, tags=[f"tag {number}"], project="shop"))[0]
        for number, text in enumerate(WORDINGS)
    ]
    others = await remembered(tenant.admin, *OTHERS, project="shop")
    apart = [
        *await remembered(tenant.admin, WORDINGS[0], project="web"),
        *await remembered(tenant.admin, f"{WORDINGS[0]}.", project="shop", type="bug"),
        *await remembered(tenant.admin, WORDINGS[0], project="shop", memory_scope="agent"),
    ]
    tenant.brain.clock.advance(DAY)
    assert (await tenant.admin.patch(f"/v1/brain/memories/{ids[1]}", json={"confirm": True})).status_code == 200
    await tenant.brain.settle()
    before = await tenant.unversioned()

    looked_at = await tenant.ran(DEDUPE)
    untouched = await tenant.unversioned()
    done = await tenant.ran(DEDUPE, dry_run=False)

    assert untouched == before
    assert looked_at["result"] == done["result"]
    assert (done["result"]["archived"], done["result"]["rewritten"]) == (2, 1)
    gone = [each for each in done["result"]["examples"] if each["action"] == "archived"]
    assert {(each["id"], each["into"]) for each in gone} == {(ids[0], ids[1]), (ids[2], ids[1])}
    assert all(each["why"].startswith("near duplicate, cosine 0.9") for each in gone)
    assert await tenant.living() == {ids[1], *others, *apart}
    kept = (await tenant.admin.get(f"/v1/brain/memories/{ids[1]}", params={"history": 1})).json()
    assert (kept["content"], set(kept["tags"])) == (WORDINGS[1], {"tag 0", "tag 1", "tag 2"})
    assert kept["history"][-1]["reason"] == f"dedupe {done['id']}: stands for 2 more"
    assert ids[1] in [each["id"] for each in await tenant.recalled(WORDINGS[2])]

    again = await tenant.ran(DEDUPE, dry_run=False)
    assert again["result"] == {"examples": []}
    offered = {"content": WORDINGS[0], "type": "fact", "project": "shop"}
    said = (await tenant.admin.post("/v1/brain/remember", json=offered)).json()
    assert (said["duplicate"], said["id"]) == (True, ids[1]), "no second copy"
    assert (await tenant.undone(done))["result"] == {"undone": 3}
    assert await tenant.unversioned() == before


async def test_what_is_near_becomes_one_that_says_all(tenant: Tenant) -> None:
    texts = (
        "The nightly export to the warehouse fails when a tenant has no orders. Ana knows why.",
        "The nightly export to the warehouse fails when a tenant has no orders",
        "The nightly export to the warehouse fails when a tenant has no orders or no name",
    )
    ids: list[str] = []
    for number, text in enumerate(texts):
        ids += await remembered(
            tenant.admin, text, confidence=0.5 + number / 10, occurred_at=f"2026-01-0{number + 1}T00:00Z"
        )
    far = await remembered(tenant.admin, "The gateway drops idle connections after 30 s")
    await tenant.brain.settle()
    before = await tenant.unversioned()

    looked_at = await tenant.ran(CONSOLIDATE, threshold=0.8)
    done = await tenant.ran(CONSOLIDATE, threshold=0.8, dry_run=False)

    assert looked_at["result"] == done["result"]
    assert (done["result"]["archived"], done["result"]["rewritten"]) == (2, 1)
    assert await tenant.living() == {ids[2], *far}
    kept = (await tenant.admin.get(f"/v1/brain/memories/{ids[2]}")).json()
    assert kept["content"] == f"{texts[2]}\n{texts[1]}\nAna knows why."
    assert kept["confidence"] == 0.7
    assert kept["metadata"]["consolidated"]["from"] == ids[::-1]
    assert {each["id"] for each in (await tenant.recalled("who knows why the nightly export fails?"))[:1]} == {ids[2]}

    again = await tenant.ran(CONSOLIDATE, threshold=0.8, dry_run=False)
    assert again["result"] == {"examples": []}
    assert (await tenant.undone(done))["result"] == {"undone": 3}
    assert await tenant.unversioned() == before


@pytest.mark.parametrize(
    ("answer", "taken"),
    [
        ('{"text": "Deploys of the web shop are on Tuesdays at 9, by Ana."}', True),
        ('{"text": "Deploys of the web shop are on Tuesdays at 10, by Ana."}', False),
        ("no JSON", False),
    ],
)
async def test_a_model_words_it_where_it_adds_nothing(tenant: Tenant, answer: str, taken: bool) -> None:
    texts = "Deploys of the web shop are on Tuesdays at 9", "Deploys of the web shop are on Tuesdays at 9, by Ana"
    await remembered(tenant.admin, *texts)
    await tenant.brain.settle()
    model = Model(answer)

    await tenant.ran(CONSOLIDATE, model, threshold=0.8, dry_run=False)
    assert model.asked == []
    await tenant.undone({"id": (await tenant.admin.get("/v1/admin/operations")).json()["operations"][0]["id"]})
    await tenant.ran(CONSOLIDATE, model, threshold=0.8, dry_run=False, reasoned=True)

    (kept,) = (await tenant.admin.get("/v1/brain/list")).json()["memories"]
    assert len(model.asked) == 1
    assert (kept["content"] == "Deploys of the web shop are on Tuesdays at 9, by Ana.") is taken


@pytest.mark.parametrize("in_memory", [True, False], ids=["in memory", "by the index"])
async def test_killed_at_every_step_it_ends_as_if_it_had_not_been(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch, in_memory: bool
) -> None:
    for name in ("READ", "WALKED", "CLUSTERS"):
        monkeypatch.setattr(clusters, name, 2)
    if not in_memory:
        monkeypatch.setattr(clusters, "BLOCK_BYTES", 1)
    for text in (*WORDINGS, *OTHERS):
        await remembered(tenant.admin, text)
    await tenant.brain.settle()
    before, looked_at = await tenant.unversioned(), await tenant.ran(DEDUPE)

    begun = await tenant.admin.post(PATH.format(DEDUPE), json={"dry_run": False})
    for death in range(20):
        held = await tenant.brain.store.operations.hold_operation(f"dies {death}", 30, {DEDUPE, UNDO})
        if held is None:
            break
        await tenant.worker()._kinds[held.kind](held)
        await age_holds(tenant.brain.store, 30)
        await tenant.worker(f"other {death}").round()
    done = await tenant.operation(begun.json()["operation"]["id"])

    assert done["result"] == looked_at["result"]
    assert len(await tenant.living()) == 3
    await tenant.undone(done)
    assert await tenant.unversioned() == before


@pytest.mark.parametrize("in_memory", [True, False], ids=["in memory", "by the index"])
async def test_of_a_cluster_that_is_too_large_the_next_runs_take_the_rest(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch, in_memory: bool
) -> None:
    for name in ("READ", "WALKED", "CLUSTERS", "MOST"):
        monkeypatch.setattr(clusters, name, 2)
    monkeypatch.setattr(large, "NEIGHBOURS", 2)
    if not in_memory:
        monkeypatch.setattr(clusters, "BLOCK_BYTES", 1)
    for number in range(7):
        await remembered(tenant.admin, f"Deploys are on Tuesdays{'!' * number}", tags=[f"tag {number}"])
    await tenant.brain.settle()

    left = [len(await tenant.living())]
    while len(left) < 9 and (len(left) < 2 or left[-1] < left[-2]):
        begun = await tenant.admin.post(PATH.format(DEDUPE), json={"dry_run": False})
        tenant.brain.clock.advance(DAY)
        await tenant.ended(begun)
        left.append(len(await tenant.living()))

    assert left[-1] == 1


@pytest.mark.parametrize("job", [DEDUPE, CONSOLIDATE])
async def test_only_an_admin_merges_and_only_their_own_workspace(tenant: Tenant, job: str) -> None:
    brain, other = tenant.brain, await tenant.brain.new_workspace()
    await remembered(tenant.admin, WORDINGS[0])
    async with http(brain.app(), await brain.key(other)) as foreign:
        theirs = await remembered(foreign, *WORDINGS[1:])
        await brain.settle()

        done = await tenant.ran(job, dry_run=False)

        assert done["result"] == {"examples": []}
        listed = (await foreign.get("/v1/brain/list")).json()["memories"]
        assert {each["id"] for each in listed} == set(theirs)
        refused(await foreign.post(PATH.format(job), json={}), 403)
