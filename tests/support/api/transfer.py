"""Helpers for exports: what a file contains, and whether two have the same content."""

import hashlib
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from openbrain.domain.access.permissions import Permission
from openbrain.domain.memory import DAY
from tests.support.api.brain import Brain, offer, remembered, unknown_id
from tests.support.processes.settings import changed

Line = dict[str, Any]


def lines_of(body: bytes) -> list[Line]:
    return [json.loads(each) for each in body.splitlines()]


def of_kind(body: bytes, kind: str) -> list[Line]:
    return [each for each in lines_of(body) if each["kind"] == kind]


def as_file(lines: Iterable[Line], *, footer: bool = True) -> bytes:
    """Return a file with a header, these lines, and a matching footer."""
    found = list(lines)
    body = b"".join(json.dumps(each).encode() + b"\n" for each in found)
    if not footer:
        return body
    counts = {
        name: sum(each["kind"] == kind for each in found)
        for name, kind in (("memories", "memory"), ("history", "history"), ("lineage", "lineage"))
    }
    last = {"kind": "footer", **counts, "digest": f"sha256:{hashlib.sha256(body).hexdigest()}"}
    return body + json.dumps(last).encode() + b"\n"


def differences(one: Iterable[bytes], other: Iterable[bytes]) -> Iterator[str]:
    """Yield the memories whose row, history (in order) or parents differ between two exports, wherever their pages
    end."""
    ours, theirs = _by_memory(one), _by_memory(other)
    for memory_id in ours.keys() | theirs.keys():
        if ours.get(memory_id) != theirs.get(memory_id):
            kinds = zip(ours.get(memory_id, ("",) * 3), theirs.get(memory_id, ("",) * 3), strict=True)
            names = [name for name, (a, b) in zip(("memory", "history", "lineage"), kinds, strict=True) if a != b]
            yield f"{memory_id}: {names}"


def _by_memory(lines: Iterable[bytes]) -> dict[str, tuple[str, ...]]:
    """Return digests, so that two large files can be compared."""
    found: dict[str, dict[str, Any]] = {}
    for line in _told(lines):
        kind = line["kind"]
        if kind == "footer":
            continue
        about = line[{"memory": "id", "history": "memory_id", "lineage": "child_id"}[kind]]
        digest = found.setdefault(about, {}).setdefault(kind, hashlib.sha256())
        digest.update(json.dumps(line, sort_keys=True).encode())
    kinds = ("memory", "history", "lineage")
    return {name: tuple(own[kind].hexdigest() if kind in own else "" for kind in kinds) for name, own in found.items()}


def told(body: bytes) -> list[str]:
    """Return an export's lines in sorted order: events of the same moment have no fixed order."""
    found = (each for each in _told(body.splitlines()) if each["kind"] != "footer")
    return sorted(json.dumps(each, sort_keys=True) for each in found)


def _told(lines: Iterable[bytes]) -> Iterator[Line]:
    for raw in lines:
        line = json.loads(raw)
        if line["kind"] in ("memory", "history", "lineage"):
            yield line
        elif line["kind"] == "footer":
            del line["digest"]
            yield line


EVERYTHING = frozenset(Permission)
NDJSON = {"content-type": "application/x-ndjson"}


@pytest.fixture(params=["sqlite", "mariadb"])
def brain_database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "mariadb":
        return str(request.getfixturevalue("mariadb_tables_url"))
    return f"sqlite+aiosqlite:///{tmp_path}/truth.db"


async def admin(brain: Brain, workspace: str = "w1", agent: str = "ada") -> str:
    return await brain.key(workspace, agent, permissions=EVERYTHING)


def keep_ids(brain: Brain) -> None:
    """Let imports keep ids even though other workspaces exist."""
    server = changed(brain.settings.server, keep_imported_ids=True)
    brain.settings = brain.settings.model_copy(update={"server": server})


async def export(client: httpx.AsyncClient, **params: Any) -> bytes:
    response = await client.get("/v1/brain/export", params=params)
    assert response.status_code == 200, response.text
    assert response.headers["content-type"] == "application/x-ndjson"
    return response.content


async def take_in(client: httpx.AsyncClient, body: bytes, **params: Any) -> dict[str, Any]:
    response = await client.post("/v1/brain/import", content=body, params=params, headers=NDJSON)
    assert response.status_code == 200, response.text
    answer: dict[str, Any] = response.json()
    assert answer["data"] == {name: value for name, value in answer.items() if name != "data"}
    return answer


async def lived(brain: Brain, client: httpx.AsyncClient) -> None:
    """Fill a workspace with chains, edits, ended and private memories, and allowed duplicates."""
    first, second, third, fourth, fifth = await remembered(client, "one", "two", "three", "four", "five", tags=["a"])
    brain.clock.advance(DAY)
    await client.patch(f"/v1/brain/memories/{second}", json={"content": "two, edited", "metadata": {"n": 1.5}})
    brain.clock.advance(DAY)
    newer = (await client.post("/v1/brain/remember", json=offer("one, newer", supersedes=first))).json()["id"]
    await client.post("/v1/brain/remember", json=offer("one, newest", supersedes=newer))
    await client.request("DELETE", f"/v1/brain/forget/{third}", json={"reason": "wrong"})
    await client.patch(f"/v1/brain/memories/{fourth}", json={"confirm": True})
    for number in range(3):
        await client.patch(f"/v1/brain/memories/{fifth}", json={"content": f"five, edition {number} ü 😀"})
    await client.post("/v1/brain/remember", json=offer("twice", allow_duplicate=True, embed=False))
    await client.post("/v1/brain/remember", json=offer("twice", occurred_at="1999-12-31T23:59:59.123456Z"))
    await client.post("/v1/brain/remember", json=offer("mine", memory_scope="agent", expires_in=5))
    await client.post(
        "/v1/brain/remember",
        json=offer("said", memory_scope="session", session_id="s1", turn=3, speaker="bob", org="alpha", project="p"),
    )


def forget_everything(connection: Any) -> None:
    for table in ("memories", "memory_history", "memory_lineage", "outbox"):
        connection.exec_driver_sql(f"DELETE FROM {table}")


HEADER: Line = {
    "kind": "header",
    "format": "openbrain-export",
    "format_version": 1,
    "export_id": "0198f3a2-5c1e-7b6d-9a55-0d4c3b2a1f00",
    "exported_at": "2027-01-01T00:00:00Z",
    "workspace_id": "elsewhere",
}
TIMES = dict.fromkeys(("occurred_at", "confirmed_at", "created_at", "updated_at"), "2020-02-02T00:00:00.000001Z")
MEMORY: Line = {"kind": "memory", "type": "fact", "memory_scope": "project", **TIMES}


def memory_line(content: str, **changes: Any) -> Line:
    return {**MEMORY, "id": unknown_id(), "content": content, **changes}
