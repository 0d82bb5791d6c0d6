"""The OpenAPI 3.1 document, made from the route table."""

import re
from collections.abc import Sequence
from http import HTTPStatus

import orjson
from pydantic import BaseModel

import openbrain
from openbrain.contract.thoughts import ThoughtList
from openbrain.domain import limits
from openbrain.ports.store.generations import IndexKind
from openbrain.usecases.transfer.lines import LINES
from openbrain_api.http.forms import MULTIPART, URLENCODED
from openbrain_api.http.response import JSON, NDJSON, PROBLEM
from openbrain_api.http.route import Nothing, Route
from openbrain_api.openapi import examples
from openbrain_api.openapi.schemas import REF, Json, Named, schemas_of

TAGS = {
    "brain": "Memories: store, find, change, forget, import and export.",
    "messages": "Messages between agents.",
    "thoughts": "Turns of conversations, each stored once and verbatim.",
    "admin": "Workspaces, keys, operations, indexes, models and streams, for operators.",
    "amygdala": "Signals, halts, broadcasts and webhooks.",
    "vault": "A vault of Markdown files: its feed, its pages, posts to it, its ticks.",
    "system": "Health of the process and the system, metrics, and this document.",
}
"""One tag for each package or module of handlers."""
_IN_PATH = re.compile(r"{(\w+)}")
_FOR_AGENTS = ("/v1/brain/", "/v1/amygdala/", "/v1/thoughts", "/v1/search", "/v1/stats")


def document(routes: Sequence[Route]) -> bytes:
    """The whole document as JSON."""
    named, schemas = schemas_of(routes)
    paths: dict[str, Json] = {}
    for route in routes:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, named, schemas)
    return orjson.dumps(
        {
            "openapi": "3.1.0",
            "info": {
                "title": "OpenBrain",
                "version": openbrain.__version__,
                "summary": "Shared memory of a fleet of AI agents.",
                "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
            },
            "servers": [{"url": "/"}],
            "tags": [{"name": name, "description": description} for name, description in TAGS.items()],
            "paths": paths,
            "components": {
                "schemas": schemas,
                "securitySchemes": {
                    "key": {"type": "http", "scheme": "bearer", "description": "A key, `ob_...`."},
                    "metrics": {"type": "http", "scheme": "bearer", "description": "OPENBRAIN_SERVER__METRICS_TOKEN."},
                },
            },
        }
    )


def _operation(route: Route, named: Named, schemas: dict[str, Json]) -> Json:
    operation: Json = {
        "summary": route.summary,
        "tags": [route.handler.__module__.split(".")[2]],
        "operationId": f"{route.handler.__name__}_{route.method.lower()}",
        "parameters": [*_path_parameters(route), *_query_parameters(route, schemas), *_header_parameters(route)],
        "responses": {**_successes(route, named), **_problems(route)},
    }
    if route.operators:
        operation["security"] = [{"key": []}, {"metrics": []}]
        operation["description"] = "Needs the metrics token of the settings, or an admin key of the workspace `system`."
    elif route.needs_key:
        operation["security"] = [{"key": []}]
        operation["description"] = f"Needs {_needed(route)}."
    else:
        operation["security"] = []
    if route.body is not Nothing:
        operation["requestBody"] = {
            "required": any(field.is_required() for field in route.body.model_fields.values()),
            "content": {JSON: _media(route.body, named[route.body, "validation"])},
        }
    if route.streamed:
        operation["requestBody"] = {"required": True, "content": {NDJSON: _ndjson()}}
    if route.form:
        operation["requestBody"] = {"required": True, "content": _forms(route.form)}
    return operation


def _forms(names: Sequence[str]) -> Json:
    """The media types of a form: text fields, the first one required. Files need multipart."""
    text = {"type": "string", "minLength": 1}
    files = {"type": "array", "items": {"type": "string", "contentMediaType": "application/octet-stream"}}
    fields = {name: text for name in names if not name.endswith("[]")}
    parts = fields | {name.removesuffix("[]"): files for name in names if name.endswith("[]")}
    schema: Json = {"type": "object", "required": [names[0]]}
    content = {MULTIPART: {"schema": {**schema, "properties": parts}}}
    return content if parts != fields else {URLENCODED: {"schema": {**schema, "properties": fields}}, **content}


def _media(body: type[BaseModel], schema: Json) -> Json:
    named = examples.of(body)
    return {"schema": schema, "examples": named} if named else {"schema": schema}


def _ndjson() -> Json:
    """A media type with the schema of each line; OpenAPI 3.1 has no standard member for that."""
    lines = {"oneOf": [{"$ref": REF.format(model=line.__name__)} for line in LINES]}
    return {"schema": {"type": "string", "description": "One JSON object a line.", "x-line-schema": lines}}


def _needed(route: Route) -> str:
    return f"the permission `{route.permission}`" if route.permission is not None else "a valid key"


def _path_parameters(route: Route) -> list[Json]:
    return [
        {"name": name, "in": "path", "required": True, "schema": _path_schema(route, name)}
        for name in _IN_PATH.findall(route.path)
    ]


def _path_schema(route: Route, name: str) -> Json:
    if name == "index":
        return {"type": "string", "enum": [kind.value for kind in IndexKind]}
    if name in ("name", "agent") or any(part in route.path for part in ("/workspaces/", "/sessions/")):
        return {"type": "string"}
    return {"type": "string", "format": "uuid"}


def _query_parameters(route: Route, schemas: dict[str, Json]) -> list[Json]:
    if route.query is Nothing:
        return []
    schema = schemas.pop(route.query.__name__, None) or route.query.model_json_schema(ref_template=REF)
    required = schema.get("required", ())
    return [
        {
            "name": name,
            "in": "query",
            "required": name in required,
            "schema": _parameter_schema(part, several=name in route.query.many),
            **({"allowEmptyValue": True} if name in route.query.lenient else {}),
            **({"style": "deepObject", "explode": True} if name in route.query.objects else {}),
            **({"description": part["description"]} if "description" in part else {}),
        }
        for name, part in schema.get("properties", {}).items()
    ]


def _parameter_schema(schema: Json, *, several: bool) -> Json:
    """A parameter's schema: never null, as it is left out instead; always a list if it may be repeated, though a body
    also accepts a single value."""
    kept = [part for part in schema.get("anyOf", ()) if part != {"type": "null"}]
    if several:
        kept = [part for part in kept if part.get("type") == "array"]
    rest = {name: value for name, value in schema.items() if name not in ("anyOf", "default", "title", "description")}
    if not kept:
        return rest
    return {**rest, **kept[0]} if len(kept) == 1 else {**rest, "anyOf": kept}


def _header_parameters(route: Route) -> list[Json]:
    def header(name: str, schema: Json, description: str) -> Json:
        return {"name": name, "in": "header", "required": False, "schema": schema, "description": description}

    text = {"type": "string", "minLength": 1}
    parameters = []
    if route.keyed:
        schema = {**text, "maxLength": limits.IDEMPOTENCY_KEY_CHARS}
        parameters.append(header("Idempotency-Key", schema, "The same key again within 24 hours stores nothing new."))
    if route.waits:
        description = f"`wait=N`: answer once done or indexed, at the latest after N (at most {limits.WAIT_SECONDS}) s."
        parameters.append(header("Prefer", {"type": "string"}, description))
    if route.matched:
        description = "Entity tags of the client's cached answers: 304 if one is still current."
        name = "If-None-Match"
        if route.method != "GET":
            name, description = "If-Match", "Entity tags: 412 if it has changed since all of them."
        parameters.append(header(name, {"type": "string"}, description))
    if route.needs_key:
        description = (
            "Identifies this request in logs and traces, and is returned: 1 to 128 printable ASCII characters."
        )
        parameters.append(header("X-Request-Id", {"type": "string"}, description))
    if route.permission is not None and route.path.startswith(_FOR_AGENTS):
        description = "Act as this agent (percent-encoded), if the key may."
        parameters.append(header("X-OpenBrain-Agent", {**text, "maxLength": 3 * limits.AGENT_CHARS}, description))
    return parameters


def _successes(route: Route, named: Named) -> Json:
    if route.response is None:
        media = "text/plain" if route.path == "/metrics" else route.media
        whole: Json = {"200": {"description": "OK", "content": {media: _ndjson() if media == NDJSON else {}}}}
        return whole | _responses(route, (304,) if route.public else ())
    content = {JSON: {"schema": named[route.response, "serialization"]}}
    held = (304,) if route.matched and route.method == "GET" else ()
    return _responses(route, route.statuses, content=content) | _responses(route, held)


def _problems(route: Route) -> Json:
    statuses = {*route.problems, 400, 405, 500}
    if route.needs_key:
        statuses |= {401, 403, 503, 422, 429}
    if route.operators:
        statuses |= {401, 403, 429, 503}
    if route.public:
        statuses.add(429)
    if route.matched and route.method != "GET":
        statuses.add(412)
    if route.body is not Nothing or route.form:
        statuses |= {400, 413, 415}
    content = {PROBLEM: {"schema": {"$ref": REF.format(model="Problem")}}}
    return _responses(route, sorted(statuses - set(route.statuses)), content=content)


def _responses(route: Route, statuses: Sequence[int], **content: Json) -> Json:
    return {
        str(status): {"description": HTTPStatus(status).phrase, **content, "headers": _headers(route, status)}
        for status in statuses
    }


def _headers(route: Route, status: int) -> Json:
    """Headers of a response of this status."""
    whole, text = {"type": "integer", "minimum": 0}, {"type": "string"}
    headers: Json = {"X-Request-Id": {"description": "The caller's own, or a new one.", "schema": text}}
    if route.needs_key and status not in (401, 405):
        headers |= {
            "X-RateLimit-Limit": {"description": "Requests per minute allowed for this key.", "schema": whole},
            "X-RateLimit-Remaining": {"description": "Requests left right now.", "schema": whole},
            "X-RateLimit-Reset": {"description": "When the limit is full again (Unix seconds).", "schema": whole},
        }
    if status in (429, 503):
        headers["Retry-After"] = {"description": "Seconds.", "schema": whole}
    if route.response is ThoughtList and "cursor" in route.query.model_fields and status < 400:
        headers["X-Next-Cursor"] = {"description": "The `cursor` of the next page.", "schema": text}
    if (route.matched or route.public) and status < 400:
        headers["ETag"] = {"description": "For `If-Match` and `If-None-Match`.", "schema": text}
    return headers
