"""Pages for a browser: a start page, and the API's document as a page. Static files of our own."""

from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from openbrain_api.http.compression import CachedBody
from openbrain_api.http.parsing import matching_tag
from openbrain_api.http.response import Response, not_modified
from openbrain_api.http.route import Call, Nothing, Route

HTML, CSS, SCRIPT = "text/html; charset=utf-8", "text/css; charset=utf-8", "text/javascript; charset=utf-8"
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'"
)
_HEADERS: Mapping[str, str] = {
    "cache-control": "no-cache",
    "content-security-policy": _POLICY,
    "referrer-policy": "no-referrer",
}


@Route("GET", "/", public=True, media=HTML)
async def home(call: Call[Nothing, Nothing]) -> Response:
    """The start page."""
    return _file(call, "home.html", HTML)


@Route("GET", "/docs", public=True, media=HTML)
async def docs(call: Call[Nothing, Nothing]) -> Response:
    """The API, as a page."""
    return _file(call, "docs.html", HTML)


@Route("GET", "/docs/page.css", public=True, media=CSS)
async def style(call: Call[Nothing, Nothing]) -> Response:
    """The style of both."""
    return _file(call, "page.css", CSS)


@Route("GET", "/docs/home.js", public=True, media=SCRIPT)
async def home_script(call: Call[Nothing, Nothing]) -> Response:
    """Shows the health."""
    return _file(call, "home.js", SCRIPT)


@Route("GET", "/docs/docs.js", public=True, media=SCRIPT)
async def docs_script(call: Call[Nothing, Nothing]) -> Response:
    """Shows /openapi.json."""
    return _file(call, "docs.js", SCRIPT)


def _file(call: Call[Nothing, Nothing], name: str, media: str) -> Response:
    content = _read(name)
    if (has := matching_tag(call.headers, content.entity_tag)) is not None:
        return not_modified({**_HEADERS, "etag": has})
    return Response(200, content.plain, media, {**_HEADERS, "etag": content.entity_tag})


@cache
def _read(name: str) -> CachedBody:
    return CachedBody.of(files(__name__).joinpath(name).read_bytes())


PAGES = (home, docs, style, home_script, docs_script)
"""Not part of the API, and so not of its document."""
