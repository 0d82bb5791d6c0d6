"""How the clients of the original are refused: the status, `error` and `message`, against a running server."""

from typing import Any

import httpx
import pytest

from openbrain.domain import limits
from openbrain.domain.errors import TryLater
from tests.support.api.brain import Brain, unknown_id
from tests.support.api.old_clients import FULL, Old
from tests.support.waiting import PATIENCE_S

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.mark.parametrize(
    "wrong",
    [
        {"content": ""},
        {"content": "x" * (limits.CONTENT_CHARS + 1)},
        {"type": "rumour"},
        {"type": None},
        {"org": " "},
        {"org": "x" * 129},
        {"project": "x" * 256},
        {"confidence": 1.1},
        {"expires_in": 0},
        {"supersedes": "7"},
        {"supersedes": unknown_id()},
        {"tags": "deploy"},
    ],
    ids=lambda wrong: next(iter(wrong)),
)
async def test_what_was_wrong_is_still_wrong_and_said_alike(old: Old, wrong: dict[str, Any]) -> None:
    status, answer = await old("POST", "/v1/brain/remember", {**FULL, **wrong})

    assert status == 422
    assert answer["error"] == "validation_error"
    assert next(iter(wrong)) in answer["message"]


async def test_forgetting_what_is_not_there(old: Old) -> None:
    for memory_id in (unknown_id(), "12"):
        status, answer = await old("DELETE", f"/v1/brain/forget/{memory_id}")
        assert (status, answer["error"]) == (404, "not_found")
    _, memory = await old("POST", "/v1/brain/remember", {"content": "x", "type": "fact"})
    status, answer = await old("DELETE", f"/v1/brain/forget/{memory['id']}", {"reason": "x" * 501})
    assert (status, answer["error"]) == (422, "validation_error")


async def test_who_may_not(module_brain: Brain, module_url: str, workspace: str) -> None:
    reader = await module_brain.key(workspace, permissions=frozenset({"brain.read"}))
    of_org = await module_brain.key(workspace, orgs=("acme",), without_org=False)
    async with httpx.AsyncClient(base_url=module_url, trust_env=False, timeout=PATIENCE_S, verify=False) as http:
        nobody = Old(http)
        answers = [await nobody("GET", "/v1/brain/list"), await nobody("POST", "/v1/brain/recall", {})]
        http.headers["authorization"] = f"Bearer {reader}"
        write = await nobody("POST", "/v1/brain/remember", FULL)
        http.headers["authorization"] = f"Bearer {of_org}"
        other_org = await nobody("POST", "/v1/brain/remember", {**FULL, "org": "other"})
        open_to_all = await nobody("GET", "/v1/health")

    assert {(status, answer["error"]) for status, answer in answers} == {(401, "unauthorised")}
    assert all(answer["message"] for _, answer in answers)
    assert [(status, answer["error"]) for status, answer in (write, other_org)] == [(403, "forbidden")] * 2
    assert open_to_all[0] == 200


async def test_the_stored_org_counts_for_what_is_forgotten(
    module_brain: Brain, old: Old, module_url: str, workspace: str
) -> None:
    """A key of other orgs gets the same answer as for an id that never existed."""
    _, memory = await old("POST", "/v1/brain/remember", FULL)
    key = await module_brain.key(workspace, orgs=("other",), without_org=False)
    async with httpx.AsyncClient(
        base_url=module_url, headers={"authorization": f"Bearer {key}"}, trust_env=False, timeout=PATIENCE_S
    ) as http:
        foreign = await Old(http)("DELETE", f"/v1/brain/forget/{memory['id']}")
        unknown = await Old(http)("DELETE", f"/v1/brain/forget/{unknown_id()}")

    assert foreign == unknown
    assert foreign[0] == 404


async def test_too_many_requests(module_brain: Brain, module_url: str, workspace: str) -> None:
    headers = {"authorization": f"Bearer {await module_brain.key(workspace, rate_limit=2)}"}
    async with httpx.AsyncClient(
        base_url=module_url, headers=headers, trust_env=False, timeout=PATIENCE_S, verify=False
    ) as http:
        well = await http.get("/v1/brain/list")
        await http.get("/v1/brain/list")
        late = await http.get("/v1/brain/list")

    assert [well.headers[f"X-RateLimit-{name}"] for name in ("Limit", "Remaining")] == ["2", "1"]
    assert int(well.headers["X-RateLimit-Reset"]) > 1_600_000_000
    assert (late.status_code, late.json()["error"]) == (429, "rate_limited")
    assert late.json()["message"]
    assert late.json()["rate_limit"]["limit"] == 2
    assert int(late.headers["Retry-After"]) >= 1
    assert late.headers["X-RateLimit-Remaining"] == "0"


async def test_what_is_down(module_brain: Brain, old: Old, monkeypatch: pytest.MonkeyPatch) -> None:
    async def down(*_: Any, **__: Any) -> None:
        raise TryLater("the database can't be reached: try again")

    monkeypatch.setattr(module_brain.store.memories, "listing", down)
    status, answer = await old("GET", "/v1/brain/list")

    assert (status, answer["error"]) == (503, "service_error")
    assert answer["message"]
