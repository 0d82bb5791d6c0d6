"""Routes that search by words, and tell what there is."""

from openbrain import contract
from openbrain.usecases.auth import Permission
from openbrain_api.handlers import discovery
from openbrain_api.handlers.brief import brief
from openbrain_api.http.route import Route
from openbrain_api.requests import discovery as discovery_requests
from openbrain_api.requests.brief import BriefQuery

ROUTES: tuple[Route, ...] = (
    Route(
        method="GET",
        path="/v1/brain/search",
        cost=2,
        handler=discovery.search,
        summary="Find memories by their words, with phrases, typos, highlights and facets",
        permission=Permission.BRAIN_READ,
        query=discovery_requests.SearchQuery,
        response=contract.Searched,
    ),
    Route(
        method="GET",
        path="/v1/brain/tags",
        cost=5,
        handler=discovery.tags,
        summary="The tags in use, with counts",
        permission=Permission.BRAIN_READ,
        query=discovery_requests.TagsQuery,
        response=contract.TagCounts,
    ),
    Route(
        method="GET",
        path="/v1/brain/scopes",
        cost=5,
        handler=discovery.scopes,
        summary="The orgs and projects in use, with counts",
        permission=Permission.BRAIN_READ,
        query=discovery_requests.ScopesQuery,
        response=contract.ScopeCounts,
    ),
    Route(
        method="GET",
        path="/v1/brain/brief",
        cost=10,
        handler=brief,
        summary="What was decided, what is stuck and what changed since a day",
        permission=Permission.BRAIN_READ,
        query=BriefQuery,
        response=contract.Brief,
    ),
)
