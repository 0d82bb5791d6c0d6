"""The browser pages: served unchanged, with nothing from other hosts, and separate from the API."""

import re

import httpx
import pytest

from openbrain_api.http.pages import PAGES
from tests.support.api.brain import Brain

LINKS = re.compile(r"""(?:src|href)="([^"]*)\"""")


@pytest.fixture
def visitor(brain: Brain) -> httpx.AsyncClient:
    return httpx.AsyncClient(base_url="http://brain", transport=httpx.ASGITransport(brain.app()))


async def test_what_a_page_links_to_is_there(visitor: httpx.AsyncClient) -> None:
    for page in ("/", "/docs"):
        shown = await visitor.get(page)
        assert (shown.status_code, shown.headers["content-type"]) == (200, "text/html; charset=utf-8")
        links = {link for link in LINKS.findall(shown.text) if not link.startswith("data:")}
        assert len(links) >= 4
        for link in links:
            found = await visitor.get(httpx.URL(f"http://brain{page}").join(link))
            assert found.status_code in (200, 503), link


async def test_nothing_comes_from_elsewhere_and_no_page_may_be_framed(visitor: httpx.AsyncClient) -> None:
    for page in PAGES:
        shown = await visitor.get(page.path)
        policy = shown.headers["content-security-policy"]

        assert "default-src 'none'; script-src 'self'" in policy
        assert "frame-ancestors 'none'" in policy
        outside = re.findall(r"https?://[\w.:-]+", shown.text)
        assert set(outside) <= {"http://127.0.0.1:8788"}, "only what is typed in the example"
        assert "<script>" not in shown.text
        assert "innerHTML" not in shown.text


async def test_a_page_that_a_browser_has_is_not_sent_again(visitor: httpx.AsyncClient) -> None:
    first = await visitor.get("/docs/docs.js")
    again = await visitor.get("/docs/docs.js", headers={"if-none-match": first.headers["etag"]})

    assert (first.status_code, again.status_code, again.content) == (200, 304, b"")


async def test_pages_are_read_and_no_part_of_the_document(visitor: httpx.AsyncClient) -> None:
    document = (await visitor.get("/openapi.json")).json()
    posted = await visitor.post("/")

    assert not {page.path for page in PAGES} & set(document["paths"])
    assert (posted.status_code, posted.headers["allow"]) == (405, "GET, HEAD, OPTIONS")
