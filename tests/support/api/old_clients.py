"""A client of the original system: what it sends, and what it reads of a memory."""

import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest_asyncio

from tests.support.api.brain import Brain
from tests.support.api.served import served

ISO = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")
TYPES = "fact decision observation convention research plan bug architecture documentation service".split()
TYPES += ["pattern", "context", "procedure"]
MEMORY = {
    "id": str,
    "agent_id": str,
    "type": str,
    "content": str,
    "tags": list,
    "org": str,
    "project": str,
    "confidence": float,
    "score": float | None,
    "source": str,
    "supersedes_id": str | None,
    "supersedes_count": int,
    "expires_at": str | None,
    "deleted_at": str | None,
    "created_at": str,
    "updated_at": str,
}
"""The fields that old clients read of a memory, with their types."""

FULL = {
    "content": "Deploys go through the blue cluster first.",
    "type": "convention",
    "tags": ["deploy", "ops"],
    "org": "  acme ",
    "project": "web",
    "confidence": 0.8,
    "supersedes": None,
    "expires_in": 48,
    "agent_id": "virgil",
    "workspace_id": 7,
    "source": "hermes",
}


class Old:
    """An old client: one base URL, one bearer key, JSON requests and answers."""

    def __init__(self, http: httpx.AsyncClient) -> None:
        self.http = http

    async def __call__(self, method: str, path: str, body: Any = None, **query: Any) -> tuple[int, Any]:
        content = None if body is None else json.dumps(body)
        headers = {"content-type": "application/json; charset=utf-8", "accept": "application/json"}
        response = await self.http.request(method, path, content=content, headers=headers, params=query or None)
        return response.status_code, response.json()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def module_url(module_brain: Brain) -> AsyncIterator[str]:
    async with served(module_brain.app()) as address:
        yield address


@asynccontextmanager
async def old_client(brain: Brain, url: str, workspace: str) -> AsyncIterator[Old]:
    headers = {"authorization": f"Bearer {await brain.key(workspace, agent='cladius')}"}
    async with httpx.AsyncClient(base_url=url, headers=headers, trust_env=False, timeout=60, verify=False) as http:
        yield Old(http)


@pytest_asyncio.fixture(loop_scope="module")
async def workspace(module_brain: Brain) -> str:
    """A new workspace for this test."""
    return await module_brain.new_workspace()


@pytest_asyncio.fixture(loop_scope="module")
async def old(module_brain: Brain, module_url: str, workspace: str) -> AsyncIterator[Old]:
    async with old_client(module_brain, module_url, workspace) as client:
        yield client


def is_memory(found: dict[str, Any]) -> None:
    for name, kind in MEMORY.items():
        assert isinstance(found[name], kind), (name, found[name])
    for name in ("created_at", "updated_at", "expires_at", "deleted_at"):
        assert found[name] is None or ISO.fullmatch(found[name])
