"""The route table: the router, the OpenAPI document and the visibility tests are made from it."""

from openbrain_api.route import Route
from openbrain_api.routes import admin, memories, state

ROUTES: tuple[Route, ...] = (*memories.ROUTES, *admin.ROUTES, *state.ROUTES)
