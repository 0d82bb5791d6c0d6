"""Routes of operations."""

from openbrain import contract
from openbrain.usecases.auth import Permission
from openbrain_api.handlers import operations
from openbrain_api.http.route import Route
from openbrain_api.requests import admin as admin_requests
from openbrain_api.requests import operations as operation_requests

ROUTES: tuple[Route, ...] = (
    Route(
        method="GET",
        path="/v1/admin/operations",
        handler=operations.operations,
        summary="The workspace's operations, newest first",
        permission=Permission.ADMIN,
        query=operation_requests.OperationsQuery,
        response=contract.OperationList,
    ),
    # Before the path that would take its `:cancel` for a part of an id.
    Route(
        method="POST",
        path="/v1/admin/operations/{id}:cancel",
        handler=operations.cancel_operation,
        summary="Cancel an operation",
        permission=Permission.ADMIN,
        query=admin_requests.WorkspaceQuery,
        response=contract.OperationAnswer,
        problems=(404, 409),
    ),
    Route(
        method="GET",
        path="/v1/admin/operations/{id}",
        handler=operations.operation,
        summary="One operation; with wait=N as soon as it has changed",
        permission=Permission.ADMIN,
        query=operation_requests.OperationQuery,
        response=contract.OperationAnswer,
        problems=(404,),
    ),
)
