"""A scripted model: it does what the last prompt says, and keeps every request.

`CALL {"name": ..., "args": {...}}` in a prompt makes it call that tool once. A request without tools asks for a
summary.
"""

import asyncio
import re
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from tests.support.cli.coding_agents.scripted_model import completion

Json = dict[str, Any]
_CALL = re.compile(r"CALL (\{.*\})")
_NAME = re.compile(r"\[(\S+) #(\d+)\]")
_NOT_SAID = ("<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>>", "<openbrain-")
"""Prefixes of messages with the role user that no user wrote."""
SUMMARY_CHARS = 3_000
WINDOW = 32_000
CHARS_PER_TOKEN = 4
_TOO_LONG = "This model's maximum context length is %s tokens. However, your messages resulted in %s tokens."
_CODE = "context_length_exceeded"


@dataclass(frozen=True)
class Asked:
    """One request: which turn of which session it belongs to."""

    session: str
    turn: int
    body: Mapping[str, Any]

    @property
    def messages(self) -> Sequence[Mapping[str, Any]]:
        return self.body["messages"]  # type: ignore[no-any-return]

    @property
    def text(self) -> str:
        return orjson.dumps(self.messages).decode()


@dataclass
class Talker:
    asked: list[Asked] = field(default_factory=list)
    summaries: list[str] = field(default_factory=list)
    """Prompts of requests for a summary."""
    window: int = WINDOW
    refused: int = 0
    """Number of requests refused because they exceed the context length."""
    held: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when a prompt with HOLD arrives; the first one is never answered."""

    def app(self) -> Starlette:
        return Starlette(routes=[Route("/v1/chat/completions", self._complete, methods=["POST"])])

    def of(self, session: str) -> Sequence[Asked]:
        return [each for each in self.asked if each.session == session]

    async def _complete(self, request: Request) -> Response:
        given = await request.body()
        body: Json = orjson.loads(given)
        used = len(given) // CHARS_PER_TOKEN
        if used > self.window:
            self.refused += 1
            return JSONResponse({"error": {"message": _TOO_LONG % (self.window, used), "code": _CODE}}, 400)
        if not body.get("tools"):
            text = "\n".join(content_of(message) for message in body["messages"])
            self.summaries.append(text)
            return _streamed(None, _summary(text), used)
        prompt, results = _prompt(body["messages"])
        name = _NAME.search(prompt)
        self.asked.append(Asked(name[1] if name else "", int(name[2]) if name else -1, body))
        if "HOLD" in prompt and not self.held.is_set():
            self.held.set()
            return StreamingResponse(_never(), media_type="text/event-stream")
        calls = [orjson.loads(call) for call in _CALL.findall(prompt)]
        if results < len(calls):
            return _streamed(("", calls[results]["name"], calls[results]["args"]), used=used)
        return _streamed(None, f"Noted: {_CALL.sub('', prompt)[-60:]}", used)


def content_of(message: Mapping[str, Any]) -> str:
    content = message.get("content") or ""
    return content if isinstance(content, str) else "\n".join(part.get("text", "") for part in content)


def _prompt(messages: Sequence[Mapping[str, Any]]) -> tuple[str, int]:
    """Return the last user message and the number of tool results after it."""
    results = 0
    for message in reversed(messages):
        if message["role"] == "tool":
            results += 1
        elif message["role"] == "user" and not content_of(message).lstrip().startswith(_NOT_SAID):
            return content_of(message), results
    return "", results


def _summary(text: str) -> str:
    """Return a summary as a model might write it: the beginning of each line, as many lines as fit."""
    lines = [line[:90] for line in text.splitlines() if line.strip()]
    kept: list[str] = []
    for line in lines:
        if sum(map(len, kept)) + len(line) > SUMMARY_CHARS:
            break
        kept.append(line)
    return "\n".join(kept)


def _streamed(call: tuple[str, str, Json] | None, text: str = "", used: int = 1) -> Response:
    def lines() -> Iterator[str]:
        for chunk in completion(call, text, used):
            yield f"data: {orjson.dumps(chunk).decode()}\n\n"
        yield "data: [DONE]\n\n"

    return Response("".join(lines()), media_type="text/event-stream")


async def _never() -> AsyncIterator[str]:
    await asyncio.Event().wait()
    yield ""
