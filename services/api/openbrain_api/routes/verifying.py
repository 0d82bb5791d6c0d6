"""The route that holds the indexes against the truth."""

from openbrain import contract
from openbrain.usecases.auth import Permission
from openbrain_api.handlers import verifying
from openbrain_api.http.route import Route
from openbrain_api.requests.verifying import VerifyBody

ROUTES: tuple[Route, ...] = (
    Route(
        method="POST",
        path="/v1/admin/verify",
        handler=verifying.verify,
        summary="Hold every index against the truth, and make them equal if so asked",
        permission=Permission.ADMIN,
        body=VerifyBody,
        response=contract.OperationAnswer,
        statuses=(202,),
    ),
)
