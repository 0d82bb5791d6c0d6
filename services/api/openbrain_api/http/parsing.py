"""Parse and validate a request's body, query and headers."""

import re
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping, Sequence
from typing import Any, Protocol, TypeVar
from urllib.parse import parse_qsl, unquote

from pydantic import BaseModel, TypeAdapter, ValidationError

from openbrain.contract.base import QueryString
from openbrain.domain import limits
from openbrain.domain.errors import Invalid, NotFound
from openbrain.domain.events.data import MOST
from openbrain.domain.events.envelope import first_problem
from openbrain.domain.events.submission import Agent, IdempotencyKey, Session
from openbrain.domain.ids import is_uuid, random_bytes
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
_WORKSPACE = "workspace_id"
"""Clients of the original send it in every request; the key decides."""
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
"""Headers that may occur only once: with two, different readers could pick different values."""


class Gone(Exception):
    """The client disconnected before its request was complete."""


def headers_of(raw: Sequence[tuple[bytes, bytes]]) -> Headers:
    """Headers by name. A repeated header becomes one comma-separated list (RFC 9110)."""
    headers = dict(raw)
    if len(headers) == len(raw):
        return headers
    merged: dict[bytes, bytes] = {}
    for name, value in raw:
        merged[name] = merged[name] + b", " + value if name in merged else value
    return merged


def once_each(raw: Sequence[tuple[bytes, bytes]]) -> None:
    """Raise `Refused` if a header of `_ONCE` is repeated."""
    if len({name for name, _ in raw}) < len(raw):
        names = [name for name, _ in raw]
        for name in _ONCE:
            if names.count(name) > 1:
                raise Refused(400, "duplicate_header", f"send the header {name.decode()} once")


async def received(receive: Receive) -> AsyncGenerator[bytes, None]:
    """Yield the body as it arrives."""
    more = True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Gone
        more = message.get("more_body", False)
        if part := message.get("body", b""):
            yield part


def unpacked(headers: Headers, receive: Receive) -> AsyncGenerator[bytes, None]:
    """The body as it arrives, decompressed if it is gzip. Raise `Refused` at once for another encoding."""
    return decompressed(received(receive)) if is_compressed(headers) else received(receive)


def media_type(headers: Headers, usual: str = "") -> str:
    """The media type of the body without parameters; `usual` if the request has none."""
    given = headers.get(b"content-type", usual.encode()).decode("latin-1")
    return given.partition(";")[0].strip().lower()


async def read_body(headers: Headers, receive: Receive, limit: int) -> bytes:
    """Return the whole body, decompressed. Raise `Refused` as soon as it exceeds `limit` bytes, or if it isn't JSON."""
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
    """Yield the parts. Raise `Refused` once they exceed `limit` bytes together."""
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
    """Parse JSON as `model`. Raise `Refused` if it is not JSON, `Invalid` with the field if it does not validate."""
    try:
        return model.model_validate_json(raw or b"{}")
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False, include_context=False)[0]
        if first["type"] == "json_invalid":
            message = "the body is not valid JSON in UTF-8, or is nested too deeply"
            raise Refused(400, "invalid_json", message) from None
        raise _invalid(model, error) from None


def parse_item(model: type[M], given: object) -> M:
    """Validate one item of a list whose items fail one by one. Raise `Invalid` with the field."""
    try:
        return model.model_validate(given)
    except ValidationError as error:
        raise _invalid(model, error) from None


def _invalid(model: type[BaseModel], error: ValidationError) -> Invalid:
    field, message = first_problem(error)
    first = error.errors(include_input=False, include_url=False, include_context=False)[0]
    if first["type"] == "extra_forbidden" and len(first["loc"]) == 1:
        message = f"is unknown: there are {', '.join(model.model_fields)}"
    return Invalid(field, message)


def parse_query(model: type[Q], raw: bytes) -> Q:
    """Parse the query string. Names in `many` may be repeated (also as `name[]`); those in `lenient` are ignored if
    empty. Raise `Invalid` for everything else that the model does not allow."""
    try:
        pairs = parse_qsl(raw.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=_QUERY_FIELDS)
    except ValueError:
        raise Invalid("query", f"must be at most {_QUERY_FIELDS} percent-encoded UTF-8 fields") from None
    values: dict[str, Any] = {}
    for name, value in pairs:
        plain = name.removesuffix("[]")
        if value == "" and plain in model.lenient:
            continue
        if plain == _WORKSPACE and plain not in model.model_fields:
            continue
        if model.objects and (member := _MEMBER.fullmatch(name)) and member["object"] in model.objects:
            members = values.setdefault(member["object"], {})
            key = member["dotted"] if member["member"] is None else member["member"]
            if not isinstance(members, dict) or key in members:
                raise Invalid(member["object"], "must have each member once")
            members[key] = value
        elif plain in model.many:
            values.setdefault(plain, []).append(value)
        elif plain in values and plain in model.model_fields:
            raise Invalid(plain, "must be given once")
        else:
            values[plain] = value
    return parse_item(model, values)


def wait_seconds(headers: Headers) -> int | None:
    """The seconds of `Prefer: wait=N`, capped; None without it. Unreadable values are ignored (RFC 7240)."""
    preferred = headers.get(b"prefer")
    if preferred is None:
        return None
    match = _WAIT.search(preferred.decode("latin-1"))
    return None if match is None else min(int(match[1]), limits.WAIT_SECONDS)


def at_once(headers: Headers) -> bool:
    """True if the request has `Prefer: respond-async`."""
    return _AT_ONCE.search(headers.get(b"prefer", b"").decode("latin-1")) is not None


def idempotency_key(headers: Headers) -> str:
    """The `Idempotency-Key` header; '' without it."""
    given = headers.get(b"idempotency-key")
    return "" if given is None else _checked(_IDEMPOTENCY_KEY, "Idempotency-Key", given.decode("latin-1"))


def part_key(key: str, number: int) -> str:
    """The idempotency key of one part of a request; '' without a key. No caller's own key holds a line break."""
    return f"{key}\n{number}" if key else ""


def named_agent(headers: Headers) -> str:
    """The agent named in `X-OpenBrain-Agent` (percent-encoded UTF-8); '' without it."""
    given = headers.get(b"x-openbrain-agent")
    if given is None:
        return ""
    try:
        name = unquote(given.decode("latin-1"), errors="strict")
    except UnicodeDecodeError:
        raise Invalid("X-OpenBrain-Agent", "must be percent-encoded UTF-8") from None
    return _checked(_AGENT, "X-OpenBrain-Agent", name)


def request_id(headers: Headers) -> bytes:
    """The caller's `X-Request-Id` if it is 1 to 128 printable ASCII characters without spaces, else a new one."""
    given = headers.get(b"x-request-id", b"")
    return given if _REQUEST_ID.fullmatch(given) else random_bytes().hex().encode()


def expected_versions(headers: Headers) -> frozenset[str] | None:
    """The editions in `If-Match`: the part of each entity tag before the point. None without the header, or for *.

    Raise `Invalid` if the header holds no entity tag."""
    given = headers.get(b"if-match")
    if given is None or given.strip() == b"*":
        return None
    tags = _TAG.findall(given.decode("latin-1"))
    if not tags:
        raise Invalid("If-Match", 'must hold entity tags in quotes, as the header ETag gives them, or "*"')
    return frozenset(tag.partition(".")[0] for tag in tags)


def matching_tag(headers: Headers, entity_tag: str) -> str | None:
    """The current entity tag that `If-None-Match` names, of the plain body or, if the client accepts gzip, of the
    compressed one. None if it names neither."""
    given = headers.get(b"if-none-match")
    if given is None:
        return None
    if given.strip() == b"*":
        return entity_tag
    tags = _TAG.findall(given.decode("latin-1"))
    possible = [entity_tag, *([compressed_tag(entity_tag)] if accepts_gzip(headers) else [])]
    return next((tag for tag in possible if tag.strip('"') in tags), None)


def unless_held(headers: Headers, response: Response) -> Response:
    """Return the response (which has an entity tag), or a 304 if the client already holds it."""
    known = matching_tag(headers, response.headers["etag"])
    return response if known is None else Response(304, b"", "", {**response.headers, "etag": known})


def traceparent(headers: Headers) -> str | None:
    """The W3C trace context, if it is valid."""
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
    """The agent in the path. Raise `Invalid` if it can't be an agent's name."""
    return _checked(_AGENT, "agent", path["agent"])


def session_in(path: Mapping[str, str]) -> str:
    """The session id in the path. A malformed one raises `NotFound`, like an unknown one."""
    try:
        return _checked(_SESSION, "id", path["id"])
    except Invalid:
        raise NotFound("no session with this id") from None


def id_in(path: Mapping[str, str], kind: str) -> str:
    """The id in the path. A malformed one raises `NotFound`, like an unknown one."""
    given = path["id"].lower()
    if not is_uuid(given):
        raise NotFound(f"no {kind} with this id")
    return given


def found(row: T | None, kind: str) -> T:
    """Return the row of an id in the path. Raise `NotFound` if None, the same for an invisible row as for no row."""
    if row is None:
        raise NotFound(f"no {kind} with this id")
    return row


class _Row(Protocol):
    @property
    def id(self) -> str: ...


R = TypeVar("R", bound=_Row)


def page_of(rows: Sequence[R], limit: int, time: str = "created_at") -> tuple[Sequence[R], str | None]:
    """The page, and the cursor after it: time and id of its last row. None if nothing follows: `rows` are read with one
    more than the page holds."""
    shown = rows[:limit]
    return shown, f"{getattr(shown[-1], time)}.{shown[-1].id}" if len(rows) > limit else None


def position(cursor: str | None) -> tuple[int, str] | None:
    """The time and id in a cursor whose pattern was already checked."""
    if cursor is None:
        return None
    at, _, last = cursor.partition(".")
    return int(at), last


def last_event_id(headers: Headers, after: int | None) -> int | None:
    """The number after which a stream continues. Browsers send it in the header when they reconnect; it wins over
    `after` of the URL."""
    given = headers.get(b"last-event-id", b"").decode("latin-1").strip()
    if not given:
        return after
    if not _EVENT_ID.fullmatch(given) or int(given) > MOST:
        raise Invalid("Last-Event-ID", "must be the id of an event of this stream, a whole number")
    return int(given)
