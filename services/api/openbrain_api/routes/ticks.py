"""Routes of ticks, by the original's names."""

from openbrain import contract
from openbrain.usecases.auth import Permission
from openbrain_api.handlers import ticks
from openbrain_api.http.route import Route
from openbrain_api.requests import ticks as requests

ROUTES: tuple[Route, ...] = (
    Route(
        method="POST",
        path="/tick",
        handler=ticks.request_tick,
        summary="Keep the vault now",
        permission=Permission.TICK_RUN,
        query=requests.TickQuery,
        response=contract.TickAccepted,
        statuses=(202,),
        problems=(404,),
        keyed=True,
    ),
    Route(
        method="GET",
        path="/tick/{id}",
        handler=ticks.tick,
        summary="One tick and its report; with wait=N as soon as it has ended",
        permission=Permission.TICK_RUN,
        query=requests.TickStateQuery,
        response=contract.TickAnswer,
        problems=(404,),
    ),
)
