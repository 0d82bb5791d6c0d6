"""The route table: the router, the OpenAPI document and the visibility tests are made from it."""

from openbrain_api.http.route import Route
from openbrain_api.routes import (
    admin,
    discovery,
    ending,
    indexes,
    memories,
    models,
    operations,
    signals,
    state,
    streams,
    ticks,
    transfer,
    vault,
    verifying,
    webhooks,
)

ROUTES: tuple[Route, ...] = (
    *memories.ROUTES,
    *ending.ROUTES,
    *discovery.ROUTES,
    *transfer.ROUTES,
    *admin.ROUTES,
    *operations.ROUTES,
    *indexes.ROUTES,
    *models.ROUTES,
    *verifying.ROUTES,
    *streams.ROUTES,
    *signals.ROUTES,
    *webhooks.ROUTES,
    *vault.ROUTES,
    *ticks.ROUTES,
    *state.ROUTES,
)
