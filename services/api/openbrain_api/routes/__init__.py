"""The route table: the router, the OpenAPI document and the visibility tests are made from it."""

from openbrain_api.http.route import Route
from openbrain_api.routes import admin, discovery, ending, indexes, memories, operations, state, transfer

ROUTES: tuple[Route, ...] = (
    *memories.ROUTES,
    *ending.ROUTES,
    *discovery.ROUTES,
    *transfer.ROUTES,
    *admin.ROUTES,
    *operations.ROUTES,
    *indexes.ROUTES,
    *state.ROUTES,
)
