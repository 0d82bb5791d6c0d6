"""A reasoner on any server with OpenAI's `POST chat/completions`; Ollama serves it at `/v1`.

Texts of the server's errors are never passed on: they may repeat the question, which contains memories of a vault.
"""

import asyncio
import re
from collections.abc import Mapping
from typing import Any, Literal

import httpx
import orjson

from openbrain.domain.errors import NeverRetry, SetupError, TryLater
from openbrain.ports.index import Checked
from openbrain.ports.models import Question, Thought

AnswerForm = Literal["schema", "json", "text"]
ANSWER_BYTES = 4_194_304
CONNECT_S = 5.0
_WORD = re.compile(r"[A-Za-z0-9_.-]{1,64}")


class ChatReasoner:
    """Port `Reasoner`. `form`: how the schema of the answer is requested; not every server supports the strictest."""

    def __init__(
        self,
        url: str,
        model: str,
        *,
        api_key: str = "",
        timeout_s: float = 120,
        answer_tokens: int = 4096,
        form: AnswerForm = "schema",
        verify_tls: bool = True,
    ) -> None:
        if not model:
            raise SetupError("OPENBRAIN_REASONER__MODEL names no model: set it to one that OPENBRAIN_REASONER__URL has")
        try:
            self._place = str(httpx.URL(url).copy_with(userinfo=b""))
        except httpx.InvalidURL as error:
            raise SetupError(f"OPENBRAIN_REASONER__URL is no URL: {error}") from None
        self._model, self._form = model, form
        self._timeout_s, self._answer_tokens = timeout_s, answer_tokens
        self._client = httpx.AsyncClient(
            base_url=url.rstrip("/") + "/",
            # `_request` limits the whole call; the model may send nothing for most of that time.
            timeout=httpx.Timeout(None, connect=min(CONNECT_S, timeout_s)),
            headers={"Authorization": f"Bearer {api_key}"} if api_key else {},
            verify=verify_tls and not url.startswith("http:"),  # certificates take 30 ms to load
        )

    async def reason(self, question: Question) -> Thought:
        return _thought(await self._request("POST", "chat/completions", self._body(question)), self._model)

    async def check(self) -> Checked:
        listed = (await self._request("GET", "models")).get("data")
        names = (
            {str(item.get("id")) for item in listed if isinstance(item, dict)} if isinstance(listed, list) else set()
        )
        known = not names or self._model in names or f"{self._model}:latest" in names
        problem = f"{self._place} does not have the model {self._model}: set OPENBRAIN_REASONER__MODEL"
        return Checked(f"reasoner with {self._model}", "", () if known else (problem,))

    async def close(self) -> None:
        await self._client.aclose()

    def _body(self, question: Question) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": self._model,
            "messages": [
                {"role": "system", "content": question.instructions},
                {"role": "user", "content": question.prompt},
            ],
            "max_tokens": self._answer_tokens,
            "temperature": 0,
        }
        if self._form == "schema":
            schema = {"name": question.schema_name, "strict": True, "schema": question.schema}
            body["response_format"] = {"type": "json_schema", "json_schema": schema}
        elif self._form == "json":
            body["response_format"] = {"type": "json_object"}
        return body

    async def _request(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Mapping[str, Any]:
        try:
            async with asyncio.timeout(self._timeout_s):
                status, raw = await self._exchange(method, path, body)
        except TimeoutError:
            raise TryLater(
                f"the reasoner at {self._place} took longer than {self._timeout_s:g} s: if it is only slow, "
                "raise OPENBRAIN_REASONER__TIMEOUT_S or lower OPENBRAIN_REASONER__PROMPT_CHARS"
            ) from None
        except httpx.HTTPError as error:
            raise TryLater(
                f"the reasoner at {self._place} can't be reached ({type(error).__name__}): is it running?"
            ) from None
        answer = _object(raw)
        if 200 <= status < 300:
            if answer is None:
                raise TryLater(f"the reasoner at {self._place} did not answer in JSON: check OPENBRAIN_REASONER__URL")
            return answer
        raise self._refusal(status, _reason(answer))

    async def _exchange(self, method: str, path: str, body: Mapping[str, Any] | None) -> tuple[int, bytes]:
        """Return status and body. `NeverRetry` if the body is longer than a sensible answer."""
        async with self._client.stream(method, path, json=body) as response:
            raw = bytearray()
            async for part in response.aiter_bytes():
                raw += part
                if len(raw) > ANSWER_BYTES:
                    raise NeverRetry(
                        f"the reasoner at {self._place} answered with more than {ANSWER_BYTES} bytes: "
                        "lower OPENBRAIN_REASONER__ANSWER_TOKENS"
                    )
            return response.status_code, bytes(raw)

    def _refusal(self, status: int, reason: str) -> Exception:
        message = f"the reasoner at {self._place} answered {status}" + (f" ({reason})" if reason else "")
        if status in {401, 403}:
            return SetupError(f"{message}: check OPENBRAIN_REASONER__API_KEY")
        if status == 404:
            return SetupError(f"{message}: check OPENBRAIN_REASONER__URL and that it has the model {self._model}")
        if status in {408, 409, 425, 429} or status >= 500:
            return TryLater(message)
        return NeverRetry(
            f"{message}: set OPENBRAIN_REASONER__ANSWER=json or text if it knows no JSON schema, "
            "or lower OPENBRAIN_REASONER__PROMPT_CHARS if the prompt is too long for it"
        )


def _thought(answer: Mapping[str, Any], model: str) -> Thought:
    choices = answer.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else {}
    message = choice.get("message")
    text = message.get("content") if isinstance(message, dict) else None
    if not isinstance(text, str):
        raise TryLater("the reasoner's answer holds no message: it is refused, and asked again at the next tick")
    usage = answer.get("usage")
    counts = usage if isinstance(usage, dict) else {}
    named = answer.get("model")
    return Thought(
        text=text,
        model=named if isinstance(named, str) and named else model,
        tokens_in=_count(counts.get("prompt_tokens")),
        tokens_out=_count(counts.get("completion_tokens")),
        cut=choice.get("finish_reason") == "length",
    )


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _object(raw: bytes) -> Mapping[str, Any] | None:
    try:
        answer = orjson.loads(raw)
    except orjson.JSONDecodeError:
        return None
    return answer if isinstance(answer, dict) else None


def _reason(answer: Mapping[str, Any] | None) -> str:
    """Return the server's short error code; its sentences may quote the request."""
    error = (answer or {}).get("error")
    given = [error.get("code"), error.get("type")] if isinstance(error, dict) else []
    return next((word for word in given if isinstance(word, str) and _WORD.fullmatch(word)), "")
