"""Requests to every route of the table with marks wherever a caller can put text: valid ones, and ones invalid in each
way."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from openbrain.domain.ids import uuid7
from openbrain_api.handlers import ROUTES
from openbrain_api.http.route import Route
from tests.support.api.inputs.bad_inputs import FULL
from tests.support.api.routes.served_document import SCHEMAS
from tests.support.processes.overhearing import Marks

JSON = {"content-type": "application/json"}
TEXTS = ("q", "query", "tags", "source", "agent_id")
"""Query parameters that may be any text."""
STREAMS = ("/v1/amygdala/stream", "/v1/messages/stream")
URLENCODED = {"content-type": "application/x-www-form-urlencoded"}
NDJSON = {"content-type": "application/x-ndjson"}
HEADERS = (
    *("x-openbrain-agent", "idempotency-key", "prefer", "if-match", "if-none-match", "traceparent"),
    *("content-encoding", "content-type", "authorization"),
)
"""Headers that are read, each sent in a separate request. X-Request-Id is left out: it may appear in logs."""
UNREAD = (
    *("user-agent", "cookie", "referer", "tracestate", "baggage", "x-forwarded-for", "forwarded", "accept"),
    *("accept-encoding", "range", "x-api-key", "origin"),
)
"""Headers that change no answer, all sent in one request."""
FORMS = {
    "authorization": ("Bearer {}", "Basic {}"),
    "if-match": ('"{}"',),
    "if-none-match": ('"{}"',),
    "prefer": ("wait=0, {}", "wait={}"),
    "traceparent": ("00-{}",),
    "content-type": ("application/json; charset={}",),
}


@dataclass(frozen=True, kw_only=True)
class Request:
    """One request."""

    method: str
    path: str
    content: bytes = b""
    params: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.path in STREAMS:  # otherwise the stream does not end
            object.__setattr__(self, "params", {"seconds": 0, **self.params})


def well_formed(marks: Marks, ids: Mapping[str, str]) -> Iterator[Request]:
    """Yield one valid request for each route, with a mark in each text. `ids`: path prefix -> the id to use there."""
    for route in ROUTES:
        yield _meant(route, marks, _path(route, ids))


def of_every_kind(marks: Marks, ids: Mapping[str, str]) -> Iterator[Request]:
    """Yield requests for each route, field and header."""
    for route in ROUTES:
        path = _path(route, ids)
        yield _meant(route, marks, path)
        yield from _by_field(route, marks, path)
        yield from _by_query(route, marks, path)
        yield from _by_header(route, marks, path)
        if "{id}" in route.path:
            for other in (marks(f"id of {route.path}"), uuid7(0)):
                yield _meant(route, marks, route.path.replace("{id}", other))
        for method in ("PUT", "HEAD", "OPTIONS", marks("method").upper()):
            yield Request(method=method, path=path, params={marks("name"): marks("value")})
        if route.streamed:
            yield from _files(route, marks, path)
    yield Request(method="GET", path=f"/v1/{marks('unknown path')}", params={"q": marks("query")})


def _path(route: Route, ids: Mapping[str, str]) -> str:
    own = next((own for start, own in ids.items() if route.path.startswith(start)), "")
    return route.path.replace("{id}", own)


def _meant(route: Route, marks: Marks, path: str) -> Request:
    if route.streamed:
        lines = [header(marks), memory_line(marks), memory_line(marks)]
        return Request(method=route.method, path=path, content=as_lines(lines), headers=NDJSON)
    if route.form:
        fields = {name.removesuffix("[]"): marks(f"{route.path} {name}") for name in route.form}
        return Request(method=route.method, path=path, content=urlencode(fields).encode(), headers=URLENCODED)
    params: dict[str, Any] = _filled(route.query, marks, route.path)
    if "seconds" in route.query.model_fields:
        params["seconds"] = 0  # otherwise the stream does not end
    body = _body(route, marks)
    return Request(method=route.method, path=path, params=params, **_json(body) if body is not None else {})


def _body(route: Route, marks: Marks) -> dict[str, Any] | None:
    if route.path not in FULL or not route.body.model_fields:
        return None
    return {name: _marked(value, marks, f"{route.path} {name}") for name, value in FULL[route.path].items()}


def _marked(value: Any, marks: Marks, place: str) -> Any:
    """Return the value with a mark in each free text."""
    if isinstance(value, str) and value not in {"fact", "brain.read"}:
        return marks(place)
    if isinstance(value, list):
        return [_marked(each, marks, place) for each in value]
    if isinstance(value, dict):
        return {name: _marked(each, marks, place) for name, each in value.items()}
    return value


def _by_field(route: Route, marks: Marks, path: str) -> Iterator[Request]:
    usual = _body(route, marks)
    if usual is None:
        return
    everything = {}
    for name, part in SCHEMAS[route.body.__name__]["properties"].items():
        place = f"{route.path} {name}"
        everything[name] = _value(part, marks, place)
        wrong = (marks(place), [marks(place)], {marks(place): marks(place)}, marks(place) * 9000, marks(place) + "\0")
        for value in (everything[name], *wrong):
            yield Request(method=route.method, path=path, **_json({**usual, name: value}))
    whole = json.dumps(usual).encode()
    for raw in (whole[:-3], b"{" + marks("raw").encode(), b'"%s"' % marks("raw").encode(), whole + whole):
        yield Request(method=route.method, path=path, content=raw, headers=JSON)
    yield Request(method=route.method, path=path, **_json({**usual, marks("unknown member"): marks("its value")}))
    yield Request(method=route.method, path=path, **_json(everything))
    yield Request(method=route.method, path=path, content=whole, headers={**JSON, "content-encoding": "gzip"})


def _by_query(route: Route, marks: Marks, path: str) -> Iterator[Request]:
    usual = _meant(route, marks, path)
    for name in [*route.query.model_fields, "unknown"]:
        for value in (marks(f"{route.path}?{name}"), marks("long") * 300, marks("nul") + "\0"):
            params = {**usual.params, name: value}
            yield Request(method=route.method, path=path, params=params, content=usual.content, headers=usual.headers)


def _by_header(route: Route, marks: Marks, path: str) -> Iterator[Request]:
    usual = _meant(route, marks, path)
    for name in HEADERS:
        for form in ("{}", *FORMS.get(name, ())):
            value = form.format(marks(f"header {name}"))
            headers = {**usual.headers, name: value}
            yield Request(method=route.method, path=path, params=usual.params, content=usual.content, headers=headers)
    headers = {**usual.headers, **{name: marks(f"header {name}") for name in UNREAD}}
    yield Request(method=route.method, path=path, params=usual.params, content=usual.content, headers=headers)


def _files(route: Route, marks: Marks, path: str) -> Iterator[Request]:
    """Yield imports with an invalid line."""
    head, good = header(marks), memory_line(marks)
    for name in good:
        for value in (marks(f"line {name}"), [marks(f"line {name}")], {marks("key"): 1}, None):
            yield _file(route, path, [head, {**good, name: value}, memory_line(marks)])
    for name in head:
        yield _file(route, path, [{**head, name: marks(f"header line {name}")}, good])
    for kind in ("history", "lineage", "footer", "mark", marks("kind")):
        yield _file(
            route, path, [head, good, {"kind": kind, "memory_id": marks("memory_id"), "digest": marks("digest")}]
        )
    for raw in (marks("raw").encode(), b"\xff" + marks("raw").encode(), b'{"kind": "%s' % marks("raw").encode()):
        yield Request(method=route.method, path=path, content=as_lines([head, good]) + raw + b"\n", headers=NDJSON)
        yield Request(method=route.method, path=path, content=raw, headers=NDJSON)
    yield Request(
        method=route.method,
        path=path,
        content=marks("no gzip").encode(),
        headers={**NDJSON, "content-encoding": "gzip"},
    )


def _file(route: Route, path: str, lines: Sequence[Mapping[str, Any]]) -> Request:
    return Request(method=route.method, path=path, content=as_lines(lines), headers=NDJSON)


def as_lines(lines: Sequence[Mapping[str, Any]]) -> bytes:
    """Encode as NDJSON."""
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


def header(marks: Marks) -> dict[str, Any]:
    """Return the first line of an export."""
    return {
        "kind": "header",
        "format": "openbrain-export",
        "format_version": 1,
        "export_id": uuid7(0),
        "exported_at": "2027-01-01T00:00:00Z",
        "workspace_id": marks("workspace of the file"),
    }


def memory_line(marks: Marks) -> dict[str, Any]:
    """Return a memory's line of an export."""
    times = dict.fromkeys(("occurred_at", "confirmed_at", "created_at", "updated_at"), "2020-02-02T00:00:00Z")
    words = {name: marks(f"line {name}") for name in ("content", "org", "project", "agent_id", "speaker", "source")}
    rest = {"tags": [marks("line tag")], "metadata": {marks("line key"): marks("line value")}}
    return {"kind": "memory", "type": "fact", "memory_scope": "project", "id": uuid7(0), **times, **words, **rest}


def _json(body: Any) -> dict[str, Any]:
    return {"content": json.dumps(body).encode(), "headers": JSON}


def _filled(model: Any, marks: Marks, place: str) -> dict[str, Any]:
    return {name: marks(f"{place}?{name}") for name in model.model_fields if name in TEXTS}


def _value(part: Mapping[str, Any], marks: Marks, place: str) -> Any:
    """Return a value that the schema accepts, with marks where it accepts any text."""
    match part:
        case {"$ref": str(name)}:
            return _value(SCHEMAS[name.rpartition("/")[2]], marks, place)
        case {"anyOf": [first, *_]} | {"allOf": [first, *_]}:
            return _value(first, marks, place)
        case {"enum": [first, *_]} | {"const": first}:
            return first
        case {"type": "array", "items": items}:
            return [_value(items, marks, place)]
        case {"type": "object", "properties": properties}:
            return {name: _value(each, marks, f"{place}.{name}") for name, each in properties.items()}
        case {"type": "object"}:
            return {marks(f"{place} key"): marks(place)}
        case {"type": "boolean"}:
            return True
        case {"type": "integer" | "number"}:
            return part.get("minimum", 1)
        case {"format": "date-time"}:
            return "2030-01-01T00:00:00Z"
        case {"pattern": str()}:
            return uuid7(0)
    return marks(place)
