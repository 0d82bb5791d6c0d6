"""A request's parts, each checked once: body, query, headers."""

import os
import re
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeVar
from urllib.parse import parse_qsl, unquote

from pydantic import BaseModel, TypeAdapter, ValidationError

from openbrain.contract.base import QueryString
from openbrain.domain import limits
from openbrain.domain.errors import Invalid, NotFound
from openbrain.domain.events.data import MOST
from openbrain.domain.events.envelope import first_problem
from openbrain.domain.events.submission import Agent, IdempotencyKey, Session
from openbrain.domain.ids import is_uuid
from openbrain_api.http.compression import accepts_gzip, compressed_tag, decompressed, is_compressed
from openbrain_api.http.response import Refused, Response

M = TypeVar("M", bound=BaseModel)
T = TypeVar("T")
Q = TypeVar("Q", bound=QueryString)
Headers = Mapping[bytes, bytes]
Receive = Callable[[], Awaitable[Any]]

_WAIT = re.compile(r"(?:^|[,;])\s*wait\s*=\s*\"?(\d{1,6})\"?\s*(?:[,;]|$)", re.IGNORECASE)
_AT_ONCE = re.compile(r"(?:^|[,;])\s*respond-async\s*(?:[,;]|$)", re.IGNORECASE)
_TRACEPARENT = re.compile(r"[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}")
_REQUEST_ID = re.compile(rb"[!-~]{1,128}")
_TAG = re.compile(r'(?:W/)?"([^"]*)"')
_QUERY_FIELDS = 200
_MEMBER = re.compile(r"(?P<object>\w+)(?:\.(?P<dotted>.*)|\[(?P<member>.+)\])", re.DOTALL)
_EVENT_ID = re.compile(r"[0-9]{1,16}")
_AGENT: TypeAdapter[str] = TypeAdapter(Agent)
_SESSION: TypeAdapter[str] = TypeAdapter(Session)
_IDEMPOTENCY_KEY: TypeAdapter[str] = TypeAdapter(IdempotencyKey)
_ONCE = (
    b"authorization",
    b"content-encoding",
    b"content-type",
    b"idempotency-key",
    b"last-event-id",
    b"traceparent",
    b"x-idempotency-key",
    b"x-openbrain-agent",
)
"""Headers of which two would be a question of who reads first."""


class Gone(Exception):
    """The client went away before its request was whole."""


def headers_of(raw: Sequence[tuple[bytes, bytes]]) -> Headers:
    """By name; what comes several times is one list, as RFC 9110 says."""
    headers = dict(raw)
    if len(headers) == len(raw):
        return headers
    merged: dict[bytes, bytes] = {}
    for name, value in raw:
        merged[name] = merged[name] + b", " + value if name in merged else value
    return merged


def once_each(raw: Sequence[tuple[bytes, bytes]]) -> None:
    """`Refused` where one stands twice that may stand once."""
    if len({name for name, _ in raw}) < len(raw):
        names = [name for name, _ in raw]
        for name in _ONCE:
            if names.count(name) > 1:
                raise Refused(400, "duplicate_header", f"send the header {name.decode()} once")


async def received(receive: Receive) -> AsyncGenerator[bytes, None]:
    """The body as it comes."""
    more = True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Gone
        more = message.get("more_body", False)
        if part := message.get("body", b""):
            yield part


def unpacked(headers: Headers, receive: Receive) -> AsyncGenerator[bytes, None]:
    """The body as it comes, decompressed where it is packed. `Refused` at once for another packing."""
    return decompressed(received(receive)) if is_compressed(headers) else received(receive)


def media_type(headers: Headers, usual: str = "") -> str:
    """The type of the body without its parameters; `usual` where the request does not say it."""
    given = headers.get(b"content-type", usual.encode()).decode("latin-1")
    return given.partition(";")[0].strip().lower()


async def read_body(headers: Headers, receive: Receive, limit: int) -> bytes:
    """The whole body, decompressed; refused as soon as it is known to be above `limit` bytes, or not to be JSON."""
    declared = headers.get(b"content-length", b"0")
    if declared.isdigit() and int(declared) > limit:
        raise _too_large(limit)
    parts = at_most(limit, received(receive))
    if is_compressed(headers):
        parts = at_most(limit, decompressed(parts))
    body = b"".join([part async for part in parts])
    if body and not _is_json(headers.get(b"content-type", b"application/json")):
        message = "send JSON, with the header `Content-Type: application/json`"
        raise Refused(415, "unsupported_media_type", message)
    return body


async def at_most(limit: int, parts: AsyncIterator[bytes]) -> AsyncGenerator[bytes, None]:
    """The parts; `Refused` once they are more than `limit` bytes together."""
    size = 0
    async for part in parts:
        size += len(part)
        if size > limit:
            raise _too_large(limit)
        yield part


def _too_large(limit: int) -> Refused:
    return Refused(413, "too_large", f"the body must be at most {limit} bytes: send fewer memories at once")


def _is_json(content_type: bytes) -> bool:
    kind, _, parameters = content_type.decode("latin-1").lower().partition(";")
    kind = kind.strip()
    charset = parameters.replace(" ", "").replace('"', "")
    return (kind == "application/json" or (kind.startswith("application/") and kind.endswith("+json"))) and (
        "charset=" not in charset or "charset=utf-8" in charset
    )


def parse_body(model: type[M], raw: bytes) -> M:
    """One parse. `Refused` for what is no JSON, `Invalid` with the field for what is no `model`."""
    try:
        return model.model_validate_json(raw or b"{}")
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False, include_context=False)[0]
        if first["type"] == "json_invalid":
            message = "the body is not valid JSON in UTF-8, or is nested too deeply"
            raise Refused(400, "invalid_json", message) from None
        raise Invalid(*first_problem(error)) from None


def parse_item(model: type[M], given: object) -> M:
    """One item of a list whose items are judged one by one. `Invalid` with the field for what is no `model`."""
    try:
        return model.model_validate(given)
    except ValidationError as error:
        raise Invalid(*first_problem(error)) from None


def parse_query(model: type[Q], raw: bytes) -> Q:
    """The query string; names in `many` may come several times (also as `name[]`), those in `lenient` stand for nothing
    where they are empty. `Invalid` for whatever else the document does not let through."""
    try:
        pairs = parse_qsl(raw.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=_QUERY_FIELDS)
    except ValueError:
        raise Invalid("query", f"must be at most {_QUERY_FIELDS} percent-encoded UTF-8 fields") from None
    values: dict[str, Any] = {}
    for name, value in pairs:
        plain = name.removesuffix("[]")
        if value == "" and plain in model.lenient:
            continue
        if model.objects and (member := _MEMBER.fullmatch(name)) and member["object"] in model.objects:
            members = values.setdefault(member["object"], {})
            key = member["dotted"] if member["member"] is None else member["member"]
            if not isinstance(members, dict) or key in members:
                raise Invalid(member["object"], "must be given once a member")
            members[key] = value
        elif plain in model.many:
            values.setdefault(plain, []).append(value)
        elif plain in values and plain in model.model_fields:
            raise Invalid(plain, "must be given once")
        else:
            values[plain] = value
    return parse_item(model, values)


def wait_seconds(headers: Headers) -> int | None:
    """`Prefer: wait=N`, capped; None where it was not asked. What can't be read is passed over, as RFC 7240 says."""
    preferred = headers.get(b"prefer")
    if preferred is None:
        return None
    match = _WAIT.search(preferred.decode("latin-1"))
    return None if match is None else min(int(match[1]), limits.WAIT_SECONDS)


def at_once(headers: Headers) -> bool:
    """`Prefer: respond-async`."""
    return _AT_ONCE.search(headers.get(b"prefer", b"").decode("latin-1")) is not None


def idempotency_key(headers: Headers) -> str:
    """The header, '' without it."""
    given = headers.get(b"idempotency-key")
    return "" if given is None else _checked(_IDEMPOTENCY_KEY, "Idempotency-Key", given.decode("latin-1"))


def named_agent(headers: Headers) -> str:
    """The agent that the request names in `X-OpenBrain-Agent` (percent-encoded UTF-8), '' without it."""
    given = headers.get(b"x-openbrain-agent")
    return "" if given is None else _checked(_AGENT, "X-OpenBrain-Agent", unquote(given.decode("latin-1")))


def request_id(headers: Headers) -> bytes:
    """The caller's `X-Request-Id` where it is 1 to 128 printable ASCII characters without spaces, else a new one."""
    given = headers.get(b"x-request-id", b"")
    return given if _REQUEST_ID.fullmatch(given) else os.urandom(16).hex().encode()


def expected_versions(headers: Headers) -> frozenset[str] | None:
    """The editions in `If-Match`: what stands before the point of each entity tag. None without the header and for *.

    `Invalid` for a header that holds no entity tag."""
    given = headers.get(b"if-match")
    if given is None or given.strip() == b"*":
        return None
    tags = _TAG.findall(given.decode("latin-1"))
    if not tags:
        raise Invalid("If-Match", 'must hold entity tags in quotes, as the header ETag gives them, or "*"')
    return frozenset(tag.partition(".")[0] for tag in tags)


def matching_tag(headers: Headers, entity_tag: str) -> str | None:
    """The tag that the client has already, by `If-None-Match`: the tag of the plain body, or where it takes it of the
    packed one."""
    given = headers.get(b"if-none-match")
    if given is None:
        return None
    if given.strip() == b"*":
        return entity_tag
    tags = _TAG.findall(given.decode("latin-1"))
    possible = [entity_tag, *([compressed_tag(entity_tag)] if accepts_gzip(headers) else [])]
    return next((tag for tag in possible if tag.strip('"') in tags), None)


def unless_held(headers: Headers, response: Response) -> Response:
    """The response, which has an entity tag; 304 where the client holds it."""
    known = matching_tag(headers, response.headers["etag"])
    return response if known is None else Response(304, b"", "", {**response.headers, "etag": known})


def traceparent(headers: Headers) -> str | None:
    """The W3C trace context, where there is a valid one."""
    given = headers.get(b"traceparent")
    if given is None:
        return None
    text = given.decode("latin-1")
    return text if _TRACEPARENT.fullmatch(text) else None


def _checked(adapter: TypeAdapter[str], name: str, value: str) -> str:
    try:
        return adapter.validate_python(value)
    except ValidationError as error:
        raise Invalid(name, first_problem(error)[1]) from None


def agent_in(path: Mapping[str, str]) -> str:
    """The agent in the path; `Invalid` for what can't be an agent's name."""
    return _checked(_AGENT, "agent", path["agent"])


def session_in(path: Mapping[str, str]) -> str:
    """The session in the path; one that can't be any session's is not found, like one that is nobody's."""
    try:
        return _checked(_SESSION, "id", path["id"])
    except Invalid:
        raise NotFound("no session with this id") from None


def id_in(path: Mapping[str, str], kind: str) -> str:
    """The id in the path; one that can't be any `kind`'s is not found, like one that is nobody's."""
    given = path["id"].lower()
    if not is_uuid(given):
        raise NotFound(f"no {kind} with this id")
    return given


def found(row: T | None, kind: str) -> T:
    """The row that an id in the path names; `NotFound` is the same for one of another and for one that never was."""
    if row is None:
        raise NotFound(f"no {kind} with this id")
    return row


def next_cursor(rows: Sequence[tuple[int, str]], limit: int) -> str | None:
    """The cursor behind a page of rows with these times and ids; None where it is not full."""
    return f"{rows[-1][0]}.{rows[-1][1]}" if len(rows) == limit else None


def position(cursor: str | None) -> tuple[int, str] | None:
    """The created_at and id in a cursor that its pattern has let through."""
    if cursor is None:
        return None
    at, _, last = cursor.partition(".")
    return int(at), last


def last_event_id(headers: Headers, after: int | None) -> int | None:
    """Of a stream: browsers say it in the header when they come back, whatever stands in the address."""
    given = headers.get(b"last-event-id", b"").decode("latin-1").strip()
    if not given:
        return after
    if not _EVENT_ID.fullmatch(given) or int(given) > MOST:
        raise Invalid("Last-Event-ID", "must be the id of an event of this stream, a whole number")
    return int(given)
