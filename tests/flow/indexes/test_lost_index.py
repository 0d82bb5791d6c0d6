"""Indexes that are removed while the system runs or is stopped are noticed, reported, and filled again."""

import shutil
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import httpx
import pytest

from openbrain.ports.store.generations import Generation, IndexKind
from openbrain.settings import Housekeeping, Settings, Streams, Text, Vectors
from openbrain.settings.tuning import HousekeepingTuning, StreamTuning, TextTuning
from openbrain_housekeeper.jobs import index_refill
from tests.flow.conftest import PATIENT, Brain, started
from tests.servers.processes.process import Server
from tests.support.waiting import until

NEVER_S = 10_000.0
NAMES = {IndexKind.TEXT: "text", IndexKind.VECTOR: "vectors"}
WEIGHTS = {IndexKind.TEXT: 1.0, IndexKind.VECTOR: 0.0}
COUNT = 8


@pytest.fixture(scope="module", autouse=True)
def quick_looks() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(index_refill, "LOOK_S", 0.05)
        yield


@dataclass(frozen=True)
class Place:
    """The place of the indexes, and a way to remove one behind the system's back."""

    settings: Settings
    remove: Callable[[Generation], object]


@pytest.fixture(params=["embedded", "elasticsearch"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    if request.param == "elasticsearch":
        return on_elasticsearch(request.getfixturevalue("elasticsearch_server"), tmp_path)
    data = tmp_path / "data"
    return Place(embedded(data), lambda each: shutil.rmtree(data / NAMES[each.kind] / each.name))


def embedded(data: Path) -> Settings:
    # Only the job that looks for lost indexes can fill them.
    seldom = Housekeeping(verify_every_s=NEVER_S, tuning=HousekeepingTuning(reconcile_every_s=NEVER_S, grace_s=NEVER_S))
    return Settings(
        data_dir=data, streams=Streams(tuning=StreamTuning(poll_s=0.2, reap_s=0.2)), housekeeping=seldom, recall=PATIENT
    )


def on_elasticsearch(server: Server, tmp_path: Path) -> Place:
    name = f"t{uuid.uuid4().hex[:10]}"
    on_server = {
        "text": Text(url=server.url, index=name, tuning=TextTuning(refresh_ms=50)),
        "vectors": Vectors(url=f"elasticsearch+{server.url}", collection=name),
    }
    return Place(
        embedded(tmp_path / "data").model_copy(update=on_server),
        lambda each: httpx.delete(f"{server.url}/{each.name}").raise_for_status(),
    )


async def generations(brain: Brain) -> list[Generation]:
    return list(await brain.container.store.generations.generations())


async def looked_at(brain: Brain) -> None:
    """Wait until both indexes have been seen complete."""

    async def both() -> bool:
        found = await generations(brain)
        return len(found) == 2 and all(each.epoch and not each.lost_at for each in found)

    await until(both)


async def epochs(brain: Brain) -> dict[str, int]:
    return {each.name: each.epoch for each in await generations(brain)}


async def looked_at_since(brain: Brain, before: dict[str, int]) -> bool:
    """True if each index has been seen complete after it had this epoch."""
    found = await generations(brain)
    return all(each.epoch > before[each.name] and not each.lost_at for each in found)


async def filled(brain: Brain, word: str = "Buoy") -> list[str]:
    ids = [await brain.remember(f"{word} {number} marks the channel.") for number in range(COUNT)]
    for each in ids:
        await brain.indexed(each)
    await brain.settled()
    await looked_at(brain)
    return ids


async def nothing_lacks(brain: Brain, ids: list[str]) -> None:
    async def taken_for_whole() -> bool:
        """The API checks the serving indexes once a second."""
        answer = await brain.post("/v1/brain/recall", {"query": "marks the channel"})
        return not answer["degraded"]

    await until(taken_for_whole)
    for weight in WEIGHTS.values():
        asked = {"query": "marks the channel", "text_weight": weight, "top_k": 3 * COUNT}

        async def all_are_found(asked: dict[str, object] = asked) -> bool:
            answer = await brain.post("/v1/brain/recall", asked)
            return (answer["degraded"], {each["id"] for each in answer["memories"]}) == ([], set(ids))

        await until(all_are_found)  # the API checks once a second which index is complete
    rows = await brain.container.store.memories.rows(ids)
    assert all(row.text_revision == row.vector_revision == row.revision for row in rows.values())

    async def well() -> bool:
        """The result of the last check may be a second old."""
        ready, health = await brain.http.get("/ready"), await brain.http.get("/v1/health")
        return bool(ready.json()["failing"] == {} and health.json()["status"] == "ok")

    await until(well)


@pytest.mark.slow("readers that were refused come back after the pause of their breaker")
async def test_removed_under_the_running_system(place: Place) -> None:
    async with started(place.settings) as brain:
        ids = await filled(brain)
        before = await generations(brain)
        for each in before:
            place.remove(each)

        async def whole() -> bool:
            now = {each.name: each for each in await generations(brain)}
            return all(now[each.name].epoch > each.epoch and not now[each.name].lost_at for each in before)

        await until(whole)
        ids += await filled(brain, "Beacon")
        await nothing_lacks(brain, ids)


async def test_removed_while_nobody_looks_is_told(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    async with started(place.settings) as brain:
        ids = await filled(brain)
        looks = 0

        async def nothing(_: index_refill.IndexRefill) -> None:
            nonlocal looks
            looks += 1

        async def no_look_is_under_way() -> bool:
            return looks > 0

        monkeypatch.setattr(index_refill.IndexRefill, "_look", nothing)
        await until(no_look_is_under_way)
        before = await generations(brain)
        for each in before:
            place.remove(each)

        async def told() -> bool:
            failing = (await brain.http.get("/ready")).json()["failing"]
            parts = (await brain.http.get("/v1/health")).json()["parts"]
            told = {parts["text"], parts["vectors"]}
            return {"indexer-text", "indexer-vector"} <= set(failing) and told == {"down"}

        await until(told)

    # The services create them anew at start, and nobody has filled them yet.
    async with started(place.settings) as brain:
        assert all(each.lost_at for each in await generations(brain))
        answer = await brain.post("/v1/brain/recall", {"query": "buoy", "top_k": COUNT})
        assert set(answer["degraded"]) == {"text", "vectors"}
        assert {each["id"] for each in answer["memories"]} == set(ids), "the database answers meanwhile"
        searched = await brain.http.get("/v1/brain/search", params={"q": "buoy"})
        assert searched.json()["degraded"] == ["text"]
        health = (await brain.http.get("/v1/health")).json()
        assert (health["status"], health["parts"]["text"], health["parts"]["vectors"]) == ("degraded", "down", "down")

        monkeypatch.undo()
        await looked_at(brain)
        await nothing_lacks(brain, ids)


async def test_an_older_copy_is_not_taken_for_the_index(tmp_path: Path) -> None:
    """As with a restored snapshot: the index exists, and lacks what came after it."""
    data = tmp_path / "data"
    settings = embedded(data)
    async with started(settings) as brain:
        ids = await filled(brain)
        copied = await epochs(brain)
    for name in NAMES.values():
        shutil.copytree(data / name, tmp_path / name)
    async with started(settings) as brain:
        ids += await filled(brain, "Beacon")
        await until(partial(looked_at_since, brain, copied))
        left = await epochs(brain)
    for name in NAMES.values():
        shutil.rmtree(data / name)
        shutil.copytree(tmp_path / name, data / name)

    async with started(settings) as brain:
        await until(partial(looked_at_since, brain, left))
        await nothing_lacks(brain, ids)


@pytest.mark.slow("readers that were refused come back after the pause of their breaker")
async def test_a_snapshot_is_put_back_under_the_running_system(
    elasticsearch_server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The index is closed, then half of it exists and is old, then all of it: reported each time, then filled."""
    monkeypatch.setattr(index_refill, "EPOCH_S", 0.2)
    place = on_elasticsearch(elasticsearch_server, tmp_path)
    snapshot = f"/_snapshot/{place.settings.text.index}"
    async with (
        httpx.AsyncClient(base_url=elasticsearch_server.url, timeout=60) as server,
        started(place.settings) as brain,
    ):

        async def ask(method: str, path: str, **body: object) -> None:
            (await server.request(method, path, json=body or None)).raise_for_status()

        ids = await filled(brain)
        before = await generations(brain)
        names = [each.name for each in before]
        await ask("PUT", snapshot, type="fs", settings={"location": place.settings.text.index})
        await ask("PUT", f"{snapshot}/s?wait_for_completion=true", indices=names)

        async def later() -> bool:
            now = {each.name: each.epoch for each in await generations(brain)}
            return all(now[each.name] > each.epoch + 1 for each in before)

        ids += await filled(brain, "Beacon")
        await until(later)

        async def told() -> bool:
            failing = (await brain.http.get("/ready")).json()["failing"]
            parts = (await brain.http.get("/v1/health")).json()["parts"]
            return {"indexer-text", "indexer-vector"} <= set(failing) and {parts["text"], parts["vectors"]} == {"down"}

        async def answered(*degraded: str) -> bool:
            answer = await brain.post("/v1/brain/recall", {"query": "buoy beacon", "top_k": 2 * COUNT})
            return (set(answer["degraded"]), {each["id"] for each in answer["memories"]}) == (set(degraded), set(ids))

        await ask("POST", f"/{','.join(names)}/_close")
        await until(told)
        await until(partial(answered, "text", "vectors"))
        epochs = {each.name: each.epoch for each in await generations(brain)}
        text, vectors = (each.name for each in sorted(before, key=lambda each: each.kind))
        await ask("POST", f"{snapshot}/s/_restore", indices=[text])
        await until(partial(answered, "vectors"))
        await ask("POST", f"{snapshot}/s/_restore", indices=[vectors])

        async def whole() -> bool:
            found = await generations(brain)
            return all(each.epoch > epochs[each.name] and not each.lost_at for each in found)

        await until(whole)
        await nothing_lacks(brain, ids)


async def test_an_alias_that_is_gone_or_points_elsewhere_is_set_again(
    elasticsearch_server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Our code does not read through the alias, so answers are complete meanwhile."""
    monkeypatch.setattr(index_refill, "EPOCH_S", 0.2)
    place = on_elasticsearch(elasticsearch_server, tmp_path)
    async with (
        httpx.AsyncClient(base_url=elasticsearch_server.url, timeout=60) as server,
        started(place.settings) as brain,
    ):
        ids = await filled(brain)
        settings = place.settings
        aliases = {
            IndexKind.TEXT: f"{settings.text.index}-text",
            IndexKind.VECTOR: f"{settings.vectors.collection}-vectors",
        }
        here = {each.name: aliases[each.kind] for each in await generations(brain)}

        async def stand() -> bool:
            found = [(await server.get(f"/_alias/{alias}")).json() for alias in here.values()]
            return [list(each) for each in found] == [[name] for name in here]

        await until(stand)
        for name, alias in here.items():
            (await server.delete(f"/{name}/_alias/{alias}")).raise_for_status()
        await nothing_lacks(brain, ids)
        await until(stand)

        foreign = f"foreign-{uuid.uuid4().hex}"
        (await server.put(f"/{foreign}")).raise_for_status()
        moves = [
            move
            for name, alias in here.items()
            for move in ({"remove": {"index": name, "alias": alias}}, {"add": {"index": foreign, "alias": alias}})
        ]
        (await server.post("/_aliases", json={"actions": moves})).raise_for_status()
        await nothing_lacks(brain, ids)
        await until(stand)
