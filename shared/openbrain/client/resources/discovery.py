"""Client methods for full-text search and counts."""

from collections.abc import Sequence
from datetime import datetime
from typing import Unpack

from openbrain.client.arguments import Filters
from openbrain.client.wire import Wire
from openbrain.contract.brain.brief import Brief
from openbrain.contract.brain.discovery import ScopeCounts, Searched, TagCounts


class Discovery:
    """Client methods for search, tags, scopes and briefs."""

    _wire: Wire
    org: str

    async def search(
        self,
        q: str,
        *,
        fuzzy: bool = False,
        phrases: bool = True,
        highlights: bool = False,
        facets: Sequence[str] = (),
        limit: int | None = None,
        cursor: str | None = None,
        **filters: Unpack[Filters],
    ) -> Searched:
        """Find memories by words, best first. `"quoted words"` must follow each other, unless `phrases` is False.

        `fuzzy` tolerates typos. `facets` counts values of type, tags, org, project, agent_id or source over all
        matches. `cursor` is the `next_cursor` of the same query.
        """
        query = {
            **_narrowed(filters, self.org),
            "q": q,
            "fuzzy": fuzzy or None,
            "phrases": None if phrases else False,
            "highlights": highlights or None,
            "facets": facets,
            "limit": limit,
            "cursor": cursor,
        }
        return await self._wire.ask(Searched, "GET", "/v1/brain/search", query=query)

    async def tags(self, *, limit: int | None = None, **filters: Unpack[Filters]) -> TagCounts:
        """Count the tags in use, most used first."""
        query = {**_narrowed(filters, self.org), "limit": limit}
        return await self._wire.ask(TagCounts, "GET", "/v1/brain/tags", query=query)

    async def scopes(self, *, limit: int | None = None, **filters: Unpack[Filters]) -> ScopeCounts:
        """Count memories by org, and within each by project. `limit` applies to the orgs, and to the projects of
        each."""
        query = {**_narrowed(filters, self.org), "limit": limit}
        return await self._wire.ask(ScopeCounts, "GET", "/v1/brain/scopes", query=query)

    async def brief(
        self,
        *,
        since: datetime | None = None,
        org: str | None = None,
        project: str | None = None,
        limit: int | None = None,
    ) -> Brief:
        """Return decisions, blockers and changes since a time, by default of the last 7 days; at most `limit` of
        each."""
        query = {"since": since, "org": org or self.org or None, "project": project, "limit": limit}
        return await self._wire.ask(Brief, "GET", "/v1/brain/brief", query=query)


def _narrowed(filters: Filters, org: str) -> dict[str, object]:
    author = filters.pop("author", None)
    return {**filters, "org": filters.get("org") or org or None, "agent_id": author}
