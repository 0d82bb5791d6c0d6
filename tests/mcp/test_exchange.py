"""A request that is answered by a plain call gets the same answer as from the SDK's own transport."""

import re
from collections.abc import AsyncIterator, Mapping

import httpx
import orjson
import pytest

from openbrain_mcp.app import PATH, with_mcp
from tests.support.api.brain import Brain, http, remembered

ASKED: Mapping[str, Mapping[str, object]] = {
    "a ping": {"method": "ping"},
    "the handshake": {
        "method": "initialize",
        "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}},
    },
    "the list": {"method": "tools/list"},
    "a tool": {"method": "tools/call", "params": {"name": "brain_list", "arguments": {}}},
    "a tool that writes": {
        "method": "tools/call",
        "params": {
            "name": "brain_remember",
            "arguments": {"content": "Prices are in whole cents.", "type": "fact"},
            "_meta": {"progressToken": 1},
        },
    },
    "a tool that fails": {"method": "tools/call", "params": {"name": "brain_get", "arguments": {"id": "nothing"}}},
    "a tool that was not chosen": {"method": "tools/call", "params": {"name": "brain_tick", "arguments": {}}},
    "no arguments": {"method": "tools/call", "params": {"name": "brain_scopes"}},
    "a list as text": {
        "method": "tools/call",
        "params": {"name": "brain_list", "arguments": {"include_scopes": '["project"]'}},
    },
    "a list as text where text is taken too": {
        "method": "tools/call",
        "params": {"name": "brain_list", "arguments": {"agent_id": '["ada", "bob"]'}},
    },
    "what belongs to no call": {
        "method": "tools/call",
        "params": {"name": "brain_list", "arguments": {}, "task": {"ttl": 1}},
    },
    "an argument that it can't take": {
        "method": "tools/call",
        "params": {"name": "brain_list", "arguments": {"limit": -1}},
    },
    "an argument that it does not know": {
        "method": "tools/call",
        "params": {"name": "brain_list", "arguments": {"projekt": "shop"}},
    },
    "no such tool": {"method": "tools/call", "params": {"name": "nothing", "arguments": {}}},
    "parameters of no shape": {"method": "tools/call", "params": {"name": 7}},
    "a name of no shape": {"method": "tools/call", "params": {"name": ["brain_list"], "arguments": {}}},
    "no such resource": {"method": "resources/read", "params": {"uri": "memory://nothing"}},
    "no such method": {"method": "nothing/at-all"},
    "an id that is none": {"id": {"a": 1}, "method": "ping"},
}


async def _in_parts(body: bytes) -> AsyncIterator[bytes]:
    """The length is not known in advance: such a request is handled by the SDK itself."""
    yield body


def _told(answer: httpx.Response) -> tuple[object, ...]:
    without_marks = re.sub(r"(memory|scopes|end) [0-9a-f]{12}", "", answer.text)
    return (
        answer.status_code,
        answer.headers["content-type"],
        answer.headers["cache-control"],
        without_marks and orjson.loads(without_marks),
    )


async def test_both_ways_answer_alike(brain: Brain) -> None:
    app = with_mcp(brain.app())
    async with app.router.lifespan_context(app), http(app, await brain.key()) as client:
        await remembered(client, "Prices are in whole cents.")
        headers = {"accept": "application/json", "content-type": "application/json"}
        for name, asked in ASKED.items():
            body = orjson.dumps({"jsonrpc": "2.0", "id": 1, **asked})
            at_once = await client.post(PATH, content=body, headers=headers)
            in_parts = await client.post(PATH, content=_in_parts(body), headers=headers)
            assert _told(at_once) == _told(in_parts), name


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"{", 400),
        (b"[]", 400),
        (b'{"jsonrpc":"2.0","method":"notifications/initialized"}', 202),
    ],
)
async def test_what_is_no_request_is_the_sdks_to_answer(brain: Brain, body: bytes, status: int) -> None:
    app = with_mcp(brain.app())
    async with app.router.lifespan_context(app), http(app, await brain.key()) as client:
        headers = {"accept": "application/json", "content-type": "application/json"}
        assert (await client.post(PATH, content=body, headers=headers)).status_code == status
