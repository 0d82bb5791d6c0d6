"""Pages for a browser: a start page, and the API's document as a page. Static files of our own."""

from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from openbrain_api.http.compression import CachedBody
from openbrain_api.http.parsing import unless_held
from openbrain_api.http.response import Response
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


def _page(path: str, name: str, media: str) -> Route:
    """The route of one of the files beside this one."""

    async def shown(call: Call[Nothing, Nothing]) -> Response:
        content = _read(name)
        headers = {**_HEADERS, "etag": content.entity_tag}
        return unless_held(call.headers, Response(200, content.plain, media, headers))

    return Route("GET", path, public=True, media=media)(shown)


@cache
def _read(name: str) -> CachedBody:
    return CachedBody.of(files(__name__).joinpath(name).read_bytes())


PAGES = (
    _page("/", "home.html", HTML),
    _page("/docs", "docs.html", HTML),
    _page("/docs/page.css", "page.css", CSS),
    _page("/docs/home.js", "home.js", SCRIPT),
    _page("/docs/docs.js", "docs.js", SCRIPT),
)
"""Not part of the API, and so not of its document."""
