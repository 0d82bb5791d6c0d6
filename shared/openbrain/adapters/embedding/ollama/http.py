"""Ollama's HTTP interface, as far as embedding needs it, and its failures as our errors.

Response bodies that may repeat an input are never passed on; the server's own short error texts are.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import httpx

from openbrain.domain.errors import NeverRetry, OpenBrainError, SetupError, TryLater

_DEAD_RUNNER = ("EOF", "runner", "connection reset", "connection refused", "broken pipe")
"""Parts of error texts of a request whose runner has ended; the last three come from its socket."""
_TOO_LONG = "context length"
_NOT_A_NUMBER = "value: NaN"
CONNECT_S = 5.0


class TooLong(NeverRetry):
    """An input is longer than the model's window: nothing was embedded."""


class RunnerDied(TryLater):
    """The process that runs the model ended during the request; Ollama starts another at once."""


class NotThere(TryLater):
    """404: the model was removed, or the server is not Ollama."""


class OllamaHttp:
    """One server; connects at the first request."""

    def __init__(self, url: str, *, timeout_s: float) -> None:
        try:
            self.place = str(httpx.URL(url).copy_with(userinfo=b""))
        except httpx.InvalidURL as error:
            raise SetupError(f"OPENBRAIN_EMBEDDING__URL is no URL: {error}") from None
        timeout = httpx.Timeout(timeout_s, connect=min(CONNECT_S, timeout_s))
        self._timeout_s = timeout_s
        # Certificates take 30 ms to load.
        self._client = httpx.AsyncClient(base_url=url, timeout=timeout, verify=not url.startswith("http:"))

    async def version(self) -> str:
        """Return the server's version, like `0.11.4`."""
        return str((await self._request("GET", "api/version")).get("version", "unknown"))

    async def digests(self) -> Mapping[str, str]:
        """Return the digest of each installed model, by its name with tag."""
        try:
            answer = await self._request("GET", "api/tags")
        except NotThere:
            answer = {}
        if "models" not in answer:
            raise SetupError(f"{self.place} does not answer like Ollama: check OPENBRAIN_EMBEDDING__URL")
        return {str(model["name"]): str(model["digest"]) for model in answer["models"] or ()}

    async def embed(self, model: str, texts: Sequence[str], keep_alive: str) -> list[list[float]]:
        """Return a vector for each text, in order. Raises `TooLong`, `RunnerDied`, `TryLater` or `NeverRetry`."""
        body = {"model": model, "input": list(texts), "truncate": False, "keep_alive": keep_alive}
        rows = (await self._request("POST", "api/embed", body)).get("embeddings")
        if not isinstance(rows, list) or len(rows) != len(texts):
            raise OpenBrainError(
                f"Ollama at {self.place} did not answer with one vector for each of {len(texts)} texts"
            )
        return rows

    async def close(self) -> None:
        await self._client.aclose()

    async def _request(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Mapping[str, Any]:
        try:
            response = await self._client.request(method, path, json=body)
        except httpx.TimeoutException:
            raise TryLater(
                f"Ollama at {self.place} took longer than {self._timeout_s:g} s: "
                "if it is only slow, raise OPENBRAIN_EMBEDDING__TIMEOUT_S or lower OPENBRAIN_EMBEDDING__BATCH"
            ) from None
        except httpx.TransportError as error:
            raise TryLater(
                f"Ollama at {self.place} can't be reached ({type(error).__name__}): is it running?"
            ) from None
        answer = _object(response)
        if response.is_success and answer is not None:
            return answer
        raise self._refusal(response.status_code, str((answer or {}).get("error", ""))[:200])

    def _refusal(self, status: int, words: str) -> Exception:
        message = f"Ollama at {self.place} answered {status}" + (f": {words}" if words else "")
        if status in {400, 500} and any(sign in words for sign in _DEAD_RUNNER):
            return RunnerDied(message)
        if status == 400 and _TOO_LONG in words:
            return TooLong(message)
        if status in {400, 413, 501} or _NOT_A_NUMBER in words:
            return NeverRetry(message)
        return NotThere(message) if status == 404 else TryLater(message)


def _object(response: httpx.Response) -> Mapping[str, Any] | None:
    """Return the answer's JSON object; None for anything else, such as a proxy's page."""
    try:
        answer = response.json()
    except ValueError:
        return None
    return answer if isinstance(answer, dict) else None
