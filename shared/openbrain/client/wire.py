"""Requests to the server: retries, size limits, errors."""

import asyncio
import json
import os
import random
from asyncio import AbstractEventLoop, get_running_loop
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import NoReturn, Protocol, TypeVar
from urllib.parse import quote

import httpx
from pydantic import BaseModel, ValidationError
from pydantic_core import PydanticSerializationError, to_json

from openbrain.client.breaker import Breaker
from openbrain.client.refusals import nothing_stored, refusal, unreachable
from openbrain.domain.access.credentials import LOOPBACK, checked_address, no_url
from openbrain.domain.errors import Backlogged, Invalid, SetupError, TryLater

A = TypeVar("A", bound=BaseModel)
RETRY_AFTER_MAX_S = 30.0
NOT_UTF8 = "a text holds bytes or characters that are not UTF-8: correct it"
Params = list[tuple[str, str | int | float | bool | None]]


class Wire:
    """The connections to one server, with its key on every request."""

    def __init__(
        self,
        url: str,
        key: str = "",
        *,
        agent: str = "",
        timeout_s: float = 60.0,
        attempts: int = 3,
        allow_http: bool = False,
        verify_tls: bool = True,
        response_bytes: int = 128 * 1024 * 1024,
        breaker: Breaker | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        address = checked_address(url, allow_http=allow_http or transport is not None)
        if not (key.isascii() and key.isprintable()):
            raise SetupError("the key holds a line break or a character that no key has: give only the key itself")
        loopback = address.hostname in LOOPBACK
        self.url = url.rstrip("/")
        self._loopback = loopback
        self._attempts = max(1, attempts)
        self._response_bytes = response_bytes
        self._breaker = breaker or Breaker(0, 0)
        headers = {"accept": "application/json"}
        if loopback:
            headers["accept-encoding"] = "identity"  # compressing costs more than sending within this machine
        if key:
            headers["authorization"] = f"Bearer {key}"
        if agent:
            headers["x-openbrain-agent"] = quote(agent)
        try:
            httpx.URL(self.url).host  # noqa: B018 - reads the name, as each request does
        except (httpx.InvalidURL, ValueError):  # a name that no host has, such as xn--
            raise no_url(url) from None
        self._connect = partial(
            httpx.AsyncClient,
            base_url=self.url,
            headers=headers,
            timeout=timeout_s,
            verify=verify_tls and address.scheme == "https",  # certificates cost 20 ms to load
            transport=transport,
            trust_env=not loopback,  # a proxy of the environment does not reach this machine's own ports
        )
        self._http = self._connect()
        self._loop: AbstractEventLoop | None = None
        self._at_end: AsyncGenerator[None, None] | None = None
        self._process = os.getpid()
        self._of_parents: list[object] = []
        """Connections of the process that this one was forked from: they are not even closed."""

    async def close(self) -> None:
        """Close the connections."""
        await self.enter_loop()
        await self._http.aclose()

    async def enter_loop(self) -> bool:
        """Prepare for the running event loop: connections end with the loop in which they were made, and can't be used
        in the next one, nor by a process that was forked meanwhile. Return whether this is another one than before."""
        before, loop = self._loop, get_running_loop()
        forked, self._process = self._process != os.getpid(), os.getpid()
        if before is loop or (before is not None and not forked and not before.is_closed()):
            return False
        if forked:
            self._of_parents += [self._http, self._at_end, before]
        if before is not None:
            self._http = self._connect()
        self._loop, self._at_end = loop, _closed_at_end(self._http)
        await anext(self._at_end)
        return before is not None

    async def ask(
        self,
        model: type[A],
        method: str,
        path: str,
        *,
        body: Mapping[str, object] | None = None,
        content: bytes | None = None,
        query: Mapping[str, object] | None = None,
        headers: Mapping[str, str] | None = None,
        repeat: bool = True,
        well: tuple[int, ...] = (200, 201),
        gone: A | None = None,
    ) -> A:
        """Send a request, and return its answer as `model`. `gone`: the answer if a repeated removal finds nothing,
        because the first request, whose answer was lost, has removed it."""
        if body is not None:
            content = encoded(body)
        sent = checked_headers(headers or {}, json=body is not None)
        self._breaker.enter(self.url)
        try:
            exchanged = await self._exchange(method, path, content, params_of(query or {}), sent, well, repeat)
        except httpx.TransportError as error:
            self._breaker.failed()
            raise unreachable(self.url, error) from error
        except BaseException:
            self._breaker.left()
            raise
        status, raw, lost = exchanged
        if status in well:
            self._breaker.answered()
            return _parsed(model, raw, self.url)
        refused = refusal(status, raw)
        if status >= 500 and not isinstance(refused, Backlogged):
            self._breaker.failed()
        else:
            self._breaker.answered()
        if status == 404 and lost and gone is not None:
            return gone
        raise refused

    async def _exchange(
        self,
        method: str,
        path: str,
        content: bytes | None,
        params: Params,
        headers: Mapping[str, str],
        well: tuple[int, ...],
        repeat: bool,
    ) -> tuple[int, bytes, bool]:
        """Return status and body of the response, after retries where they make sense, and whether an earlier request
        may have been carried out."""
        request, lost = self.request(method, path, content, params, headers), False
        for attempt in range(1, self._attempts):
            try:
                response, raw = await self._send(request)
            except httpx.TransportError as error:
                if not (repeat or isinstance(error, httpx.ConnectError | httpx.ConnectTimeout)):
                    raise
                if self._loopback and attempt > 1 and isinstance(error, httpx.ConnectError):
                    raise  # nothing listens on this local port: report a wrong URL at once
                lost = lost or not isinstance(error, httpx.ConnectError | httpx.ConnectTimeout)
                await asyncio.sleep(_pause(attempt, None))
                continue
            if response.status_code in well or not _worth_repeating(response, raw, repeat):
                return response.status_code, raw, lost
            lost = lost or (response.status_code == 503 and not nothing_stored(raw))
            await asyncio.sleep(_pause(attempt, response.headers.get("retry-after")))
        response, raw = await self._send(request)
        return response.status_code, raw, lost

    def request(
        self, method: str, path: str, content: bytes | None, params: Params, headers: Mapping[str, str]
    ) -> httpx.Request:
        """Return the request. Raise `Invalid` for a value that can't be sent."""
        try:
            named = httpx.Headers(headers, encoding="utf-8")
            return self._http.build_request(method, path, content=content, params=params, headers=named)
        except UnicodeEncodeError as error:
            raise Invalid("", NOT_UTF8) from error
        except httpx.InvalidURL as error:
            raise Invalid("", f"the request can't be sent: {error}") from error

    async def stream(self, path: str, *, query: Mapping[str, object], accept: str) -> AsyncGenerator[bytes, None]:
        """Yield the bytes of a response as they arrive. `TryLater` if the connection breaks off."""
        request = self.request("GET", path, None, params_of(query), {"accept": accept})
        await self.enter_loop()
        try:
            response = await self._http.send(request, stream=True)
            try:
                if response.status_code != 200:
                    raise refusal(response.status_code, await response.aread())
                async for part in response.aiter_bytes():
                    yield part
            finally:
                await response.aclose()
        except httpx.TransportError as error:
            raise unreachable(self.url, error) from error
        except httpx.DecodingError as error:
            raise TryLater(f"the answer of {self.url} broke off: try again") from error

    async def _send(self, request: httpx.Request) -> tuple[httpx.Response, bytes]:
        await self.enter_loop()
        response = await self._http.send(request, stream=True)
        try:
            raw = bytearray()
            async for chunk in response.aiter_bytes():
                raw += chunk
                if len(raw) > self._response_bytes:
                    raise SetupError(f"the answer of {self.url} is above {self._response_bytes} bytes: ask for fewer")
        except httpx.DecodingError as error:
            raise httpx.ReadError(f"the answer broke off: {error}", request=request) from error
        finally:
            await response.aclose()
        return response, bytes(raw)


async def _closed_at_end(http: httpx.AsyncClient) -> AsyncGenerator[None, None]:
    """An event loop that ends closes its generators, and so these connections."""
    try:
        yield
    finally:
        await http.aclose()


def encoded(body: Mapping[str, object]) -> bytes:
    """Return a body as JSON. Raise `Invalid` for a value that JSON does not have."""
    try:
        raw = to_json(body, fallback=_plain, inf_nan_mode="constants")
    except PydanticSerializationError as error:
        why = NOT_UTF8 if "surrogates not allowed" in str(error) else f"the request can't be sent: {error}"
        raise Invalid("", why) from error
    if b"NaN" in raw or b"Infinity" in raw:  # perhaps within a text
        json.loads(raw, parse_constant=_refuse_number)
    return raw


def _refuse_number(number: str) -> NoReturn:
    """As null a limit would be left out, and more be selected."""
    raise Invalid("", f"a number is {number}, which can't be sent: give a finite one")


def checked_headers(headers: Mapping[str, str], *, json: bool) -> Mapping[str, str]:
    """Return the headers, with that of a JSON body. Raise `Invalid` for a value that no header may have."""
    for name, value in headers.items():
        if not value.isprintable():
            raise Invalid(name, "must not hold control characters or line breaks")
    return {**headers, "content-type": "application/json"} if json else headers


def write_headers(idempotency_key: str = "", *, wait: int = 0, if_match: str = "") -> dict[str, str]:
    """Return the headers of a write that have a value."""
    headers = {"idempotency-key": idempotency_key, "prefer": f"wait={wait}" if wait else "", "if-match": if_match}
    return {name: value for name, value in headers.items() if value}


class Page(Protocol):
    """A response with a page of a list."""

    @property
    def next_cursor(self) -> str | None: ...


P = TypeVar("P", bound=Page)


async def pages(ask: Callable[[str | None], Awaitable[P]]) -> AsyncGenerator[P, None]:
    """Yield each page of a list. `ask` returns the page at a cursor; None: the first page."""
    cursor: str | None = None
    while True:
        page = await ask(cursor)
        yield page
        cursor = page.next_cursor
        if cursor is None:
            return


def in_path(text: str) -> str:
    """Return the text quoted as one segment of a path. `Invalid` if it is empty: that would be another route."""
    if not text:
        raise Invalid("", "an id or name is empty, as of a variable that is not set: give one")
    if text in (".", ".."):
        return text.replace(".", "%2E")  # else it would lead to another route
    try:
        return quote(text, safe="")
    except UnicodeEncodeError as error:
        raise Invalid("", NOT_UTF8) from error


def given(**named: object) -> dict[str, object]:
    """Return the arguments that are not None."""
    return {name: value for name, value in named.items() if value is not None}


def filled(**named: object) -> dict[str, object]:
    """Return the arguments that are neither None nor empty."""
    return {name: value for name, value in named.items() if value}


def refuse_empty(filters: Mapping[str, object]) -> None:
    """Raise `Invalid` for a filter without a value, as of an unset variable or of a list that turned out empty: without
    it, more would be selected."""
    for name, value in filters.items():
        empty = isinstance(value, Collection) and (not value or (not isinstance(value, str | Mapping) and "" in value))
        if empty and name != "session_id":  # which only adds
            raise Invalid(name, "must not be empty: leave it out for all")


def _worth_repeating(response: httpx.Response, raw: bytes, repeat: bool) -> bool:
    if response.status_code == 503:
        # If nothing was stored, any request may be repeated.
        return repeat or nothing_stored(raw)
    return response.status_code in (408, 429)


def _pause(attempt: int, retry_after: str | None) -> float:
    seconds = float(retry_after) if retry_after is not None and retry_after.isdecimal() else 0.1 * 2**attempt
    return min(seconds, RETRY_AFTER_MAX_S) + random.uniform(0, 0.1)  # noqa: S311 - spreads clients, hides nothing


def _parsed(model: type[A], raw: bytes, url: str) -> A:
    try:
        return model.model_validate_json(raw)
    except ValidationError:
        raise SetupError(f"{url} did not answer as an OpenBrain API: check the URL and the server's version") from None


def params_of(query: Mapping[str, object]) -> Params:
    pairs: Params = []
    for name, value in query.items():
        if isinstance(value, Mapping):
            pairs += [(f"{name}.{member}", _text(item)) for member, item in value.items()]
            continue
        many = (value,) if isinstance(value, str) or not isinstance(value, Collection) else value
        pairs += [
            (name, _text(item))
            for item in many
            if item is not None and item != ""  # an empty value narrows nothing, and the API refuses it
        ]
    return pairs


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return value.isoformat() if isinstance(value, datetime) else str(value)


def _plain(value: object) -> object:
    if isinstance(value, Sequence | set | frozenset):
        return list(value)
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} can't be sent as JSON")
