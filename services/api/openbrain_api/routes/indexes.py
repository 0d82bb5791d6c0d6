"""Routes of the indexes' generations."""

from openbrain import contract
from openbrain.usecases.auth import Permission
from openbrain_api.handlers import indexes
from openbrain_api.http.route import Route
from openbrain_api.requests import indexes as index_requests

ROUTES: tuple[Route, ...] = (
    Route(
        method="POST",
        path="/v1/admin/reindex",
        handler=indexes.reindex,
        summary="Make an index anew beside the one that serves, or write memories again where they are",
        permission=Permission.ADMIN,
        body=index_requests.ReindexBody,
        response=contract.Reindexed,
        statuses=(200, 202),
        problems=(409,),
    ),
    Route(
        method="GET",
        path="/v1/admin/generations",
        handler=indexes.generations,
        summary="The generations of the indexes",
        permission=Permission.ADMIN,
        query=index_requests.GenerationsQuery,
        response=contract.GenerationList,
    ),
    Route(
        method="POST",
        path="/v1/admin/generations/{index}/{name}:switch",
        handler=indexes.switch,
        summary="Let a kept generation serve",
        permission=Permission.ADMIN,
        response=contract.GenerationAnswer,
        problems=(404, 409),
    ),
    Route(
        method="DELETE",
        path="/v1/admin/generations/{index}/{name}",
        handler=indexes.drop,
        summary="Remove a generation that does not serve",
        permission=Permission.ADMIN,
        query=index_requests.DropQuery,
        response=contract.GenerationDropped,
        problems=(404, 409),
    ),
)
