"""Routes of tenants and keys."""

from openbrain import contract
from openbrain.usecases.auth import Permission
from openbrain_api.handlers import admin
from openbrain_api.http.route import Route
from openbrain_api.requests import admin as admin_requests

ROUTES: tuple[Route, ...] = (
    Route(
        method="POST",
        path="/v1/admin/workspaces",
        handler=admin.create_workspace,
        summary="Make a workspace",
        permission=Permission.ADMIN,
        body=admin_requests.WorkspaceBody,
        response=contract.WorkspaceAnswer,
        statuses=(201,),
        problems=(409,),
    ),
    Route(
        method="GET",
        path="/v1/admin/workspaces",
        handler=admin.workspaces,
        summary="Workspaces, by id",
        permission=Permission.ADMIN,
        query=admin_requests.WorkspacesQuery,
        response=contract.WorkspaceList,
    ),
    Route(
        method="PATCH",
        path="/v1/admin/workspaces/{id}",
        handler=admin.change_workspace,
        summary="Change a workspace's name or quotas",
        permission=Permission.ADMIN,
        body=admin_requests.WorkspaceChangeBody,
        response=contract.WorkspaceAnswer,
        problems=(404,),
    ),
    Route(
        method="POST",
        path="/v1/admin/keys",
        handler=admin.create_key,
        summary="Make a key; its secret is in this answer only",
        permission=Permission.ADMIN,
        body=admin_requests.KeyBody,
        response=contract.KeyCreated,
        statuses=(201,),
        problems=(404, 409),
    ),
    Route(
        method="GET",
        path="/v1/admin/keys",
        handler=admin.keys,
        summary="The workspace's keys, newest first",
        permission=Permission.ADMIN,
        query=admin_requests.KeysQuery,
        response=contract.KeyList,
    ),
    Route(
        method="POST",
        path="/v1/admin/keys/{id}:rotate",
        handler=admin.rotate_key,
        summary="Replace a key by a new one; its secret is in this answer only",
        permission=Permission.ADMIN,
        body=admin_requests.RotateBody,
        query=admin_requests.WorkspaceQuery,
        response=contract.KeyRotated,
        statuses=(201,),
        problems=(404, 409),
    ),
    Route(
        method="DELETE",
        path="/v1/admin/keys/{id}",
        handler=admin.revoke_key,
        summary="Revoke a key",
        permission=Permission.ADMIN,
        query=admin_requests.WorkspaceQuery,
        response=contract.KeyRevoked,
        problems=(404,),
    ),
)
