"""Routes of the embedding model."""

from openbrain import contract
from openbrain.usecases.auth import Permission
from openbrain_api.handlers import models
from openbrain_api.http.route import Route
from openbrain_api.requests import models as model_requests

ROUTES: tuple[Route, ...] = (
    Route(
        method="GET",
        path="/v1/admin/models",
        handler=models.in_use,
        summary="Which embedding model serves",
        permission=Permission.ADMIN,
        response=contract.ModelInUse,
    ),
    Route(
        method="POST",
        path="/v1/admin/models:change",
        handler=models.change,
        summary="Embed all memories by another model while the old one answers, then let it serve",
        permission=Permission.ADMIN,
        body=model_requests.ModelChangeBody,
        response=contract.ModelChange,
        statuses=(200, 202),
        problems=(409,),
    ),
)
