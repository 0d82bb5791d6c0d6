"""Arcs, found and read."""

import asyncio

from openbrain.contract.vault.arcs import ArcDetail, ArcsFound, ArcsQuery
from openbrain.domain.access.permissions import Permission
from openbrain_api.http.response import Response, respond
from openbrain_api.http.route import Call, Nothing, Route
from openbrain_api.vaults import arc_search
from openbrain_api.vaults.writes import vault_of


@Route("GET", "/vault/arcs", permission=Permission.VAULT_READ, response=ArcsFound, problems=(404,), cost=20)
async def found_arcs(call: Call[Nothing, ArcsQuery]) -> Response:
    """Find arcs by the words of a question."""
    arcs, complete = await asyncio.to_thread(arc_search.search, vault_of(call), call.query)
    return respond({"arcs": arcs, "count": len(arcs), "complete": complete})


@Route("GET", "/vault/arcs/{id}", permission=Permission.VAULT_READ, response=ArcDetail, problems=(404,), cost=5)
async def arc(call: Call[Nothing, Nothing]) -> Response:
    """One arc with its page."""
    return respond(await asyncio.to_thread(arc_search.one, vault_of(call), call.path["id"]))
