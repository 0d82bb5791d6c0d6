"""A model's API that calls the scripted tools and keeps the results that the agent sends back.

It speaks the streaming protocols that coding agents use: Anthropic's Messages, OpenAI's Responses and Chat Completions.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import orjson
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

MODEL = "claude-scripted"
Json = dict[str, Any]
Call = tuple[str, str, Json]
"""The namespace of a tool, its name there, and the arguments."""


@dataclass
class ScriptedModel:
    """`calls`: the script, one tool call per turn. `received`: all tool results in the last request, as a model reads
    them."""

    calls: Sequence[tuple[str, Mapping[str, Any]]]
    received: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    """All requests, complete."""

    def app(self) -> Starlette:
        return Starlette(
            routes=[
                Route("/v1/messages", self._messages, methods=["POST"]),
                Route("/v1/responses", self._responses, methods=["POST"]),
                Route("/v1/chat/completions", self._completions, methods=["POST"]),
                Route("/{path:path}", _nothing_else, methods=["GET", "HEAD", "POST"]),
            ]
        )

    async def _messages(self, request: Request) -> Response:
        asked = orjson.loads(await request.body())
        self.requests.append((await request.body()).decode())
        parts = [part for each in asked["messages"] if isinstance(each["content"], list) for part in each["content"]]
        results = [_text(part["content"]) for part in parts if part["type"] == "tool_result"]
        return _streamed(_message(self._turn(results, asked.get("tools", ()))))

    async def _responses(self, request: Request) -> Response:
        asked = orjson.loads(await request.body())
        results = [_text(item["output"]) for item in asked["input"] if item["type"] == "function_call_output"]
        return _streamed(_response(self._turn(results, asked.get("tools", ()))))

    async def _completions(self, request: Request) -> Response:
        asked = orjson.loads(await request.body())
        self.requests.append((await request.body()).decode())
        results = [_text(message["content"]) for message in asked["messages"] if message["role"] == "tool"]
        tools = [tool["function"] for tool in asked.get("tools", ())]
        lines = [f"data: {orjson.dumps(chunk).decode()}\n\n" for chunk in completion(self._turn(results, tools))]
        return Response("".join([*lines, "data: [DONE]\n\n"]), media_type="text/event-stream")

    def _turn(self, results: list[str], tools: Iterable[Json]) -> Call | None:
        """Return the next call, with the tool's offered name; None if the script is done or no tools are offered."""
        offered = list(_offered(tools))
        if offered:
            self.received = results
        if not offered or len(results) >= len(self.calls):
            return None
        wanted, arguments = self.calls[len(results)]
        ((namespace, name),) = [each for each in offered if each[1].endswith(wanted)]
        return namespace, name, dict(arguments)


def _offered(tools: Iterable[Json], namespace: str = "") -> Iterator[tuple[str, str]]:
    for tool in tools:
        if tool.get("type") == "namespace":
            yield from _offered(tool["tools"], tool["name"])
        elif "name" in tool:
            yield namespace, tool["name"]


def _text(content: Any) -> str:
    return content if isinstance(content, str) else "\n".join(part.get("text", "") for part in content)


def _message(call: Call | None) -> Iterator[Json]:
    start: Json = {"type": "text", "text": ""}
    delta: Json = {"type": "text_delta", "text": "done"}
    if call:
        start = {"type": "tool_use", "id": f"toolu_{uuid4().hex}", "name": call[1], "input": {}}
        delta = {"type": "input_json_delta", "partial_json": orjson.dumps(call[2]).decode()}
    head: Json = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": MODEL,
        "content": [],
        "stop_reason": None,
    }
    yield {"type": "message_start", "message": {**head, "usage": {"input_tokens": 1, "output_tokens": 1}}}
    yield {"type": "content_block_start", "index": 0, "content_block": start}
    yield {"type": "content_block_delta", "index": 0, "delta": delta}
    yield {"type": "content_block_stop", "index": 0}
    end = {"stop_reason": "tool_use" if call else "end_turn", "stop_sequence": None}
    yield {"type": "message_delta", "delta": end, "usage": {"output_tokens": 1}}
    yield {"type": "message_stop"}


def _response(call: Call | None) -> Iterator[Json]:
    says = {"type": "output_text", "text": "done"}
    item: Json = {"type": "message", "id": "msg_1", "role": "assistant", "content": [says]}
    if call:
        number = uuid4().hex
        item = {"type": "function_call", "id": f"fc_{number}", "call_id": f"call_{number}", "namespace": call[0]}
        item |= {"name": call[1], "arguments": orjson.dumps(call[2]).decode()}
    usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
    yield {"type": "response.created", "response": {"id": "resp_1"}}
    yield {"type": "response.output_item.done", "output_index": 0, "item": item}
    yield {"type": "response.completed", "response": {"id": "resp_1", "usage": usage}}


def completion(call: Call | None, text: str = "done", prompt_tokens: int = 1) -> Iterator[Json]:
    delta: Json = {"role": "assistant", "content": text}
    if call:
        function = {"name": call[1], "arguments": orjson.dumps(call[2]).decode()}
        calls = [{"index": 0, "id": f"call_{uuid4().hex}", "type": "function", "function": function}]
        delta = {"role": "assistant", "content": None, "tool_calls": calls}
    head: Json = {"id": "chat_1", "object": "chat.completion.chunk", "created": 1, "model": MODEL}
    yield {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    usage = {"prompt_tokens": prompt_tokens, "completion_tokens": 1, "total_tokens": prompt_tokens + 1}
    end = "tool_calls" if call else "stop"
    yield {**head, "choices": [{"index": 0, "delta": {}, "finish_reason": end}], "usage": usage}


def _streamed(events: Iterable[Json]) -> Response:
    lines = (f"event: {event['type']}\ndata: {orjson.dumps(event).decode()}\n\n" for event in events)
    return Response("".join(lines), media_type="text/event-stream")


async def _nothing_else(_request: Request) -> Response:
    return JSONResponse({"type": "error", "error": {"type": "not_found_error", "message": "not here"}}, 404)
