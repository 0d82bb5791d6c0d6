"""Routes of the vault: those that the agents' client and the original's tools know, by their own names."""

from typing import Any

from openbrain.contract import vault as answers
from openbrain.usecases.auth import Permission
from openbrain_api.handlers import artifacts, vault_health, vault_reading, vault_writing
from openbrain_api.http.route import Route
from openbrain_api.requests import vault as requests

_READS: dict[str, Any] = {"method": "GET", "permission": Permission.VAULT_READ, "problems": (404,)}
_WRITES: dict[str, Any] = {
    "method": "POST",
    "permission": Permission.VAULT_WRITE,
    "problems": (404, 409),
    "keyed": True,
}

ROUTES: tuple[Route, ...] = (
    Route(path="/feed", handler=vault_reading.feed, summary="What sessions read", response=answers.Feed, **_READS),
    Route(
        method="GET",
        path="/signal",
        handler=vault_reading.alarm_now,
        summary="The gravest alarm that stands",
        permission=Permission.VAULT_READ,
        response=answers.Alarm,
    ),
    Route(
        path="/marker",
        handler=vault_writing.marker,
        summary="Post a lesson, milestone, signal or decision",
        body=requests.MarkerBody,
        response=answers.MarkerWritten,
        statuses=(201,),
        **_WRITES,
    ),
    Route(
        path="/ingest",
        handler=vault_writing.ingest,
        summary="Put a message into the inbox",
        form=("message",),
        body_bytes=vault_writing.FORM_BYTES,
        response=answers.Ingested,
        **_WRITES,
    ),
    Route(
        path="/ingest_with_files",
        handler=vault_writing.ingest_with_files,
        summary="Put a message and its files into the inbox",
        form=("message", "files[]"),
        body_bytes=vault_writing.FORM_BYTES,
        response=answers.Ingested,
        **_WRITES,
    ),
    Route(
        method="POST",
        path="/index_artifact",
        handler=artifacts.index_artifact,
        summary="Remember a text under a key; it replaces the one before",
        permission=Permission.BRAIN_WRITE,
        stores=True,
        body=requests.ArtifactBody,
        response=answers.ArtifactIndexed,
        statuses=(200, 201),
        problems=(409,),
    ),
    Route(
        path="/vault/list",
        handler=vault_reading.files,
        summary="List a vault's files by name",
        query=requests.ListQuery,
        response=answers.VaultList,
        **_READS,
    ),
    Route(
        path="/vault/read",
        handler=vault_reading.page,
        summary="One file of the vault",
        query=requests.ReadQuery,
        response=answers.VaultPage,
        **_READS,
    ),
    Route(
        path="/vault/search",
        handler=vault_reading.found_pages,
        summary="Pages that hold every word",
        query=requests.SearchQuery,
        response=answers.VaultFound,
        cost=20,
        **_READS,
    ),
    Route(
        path="/vault/write_inbox",
        handler=vault_writing.write_inbox,
        summary="Put a page into the inbox",
        body=requests.InboxBody,
        response=answers.PageWritten,
        statuses=(201,),
        **_WRITES,
    ),
    Route(
        path="/health/deep",
        handler=vault_health.deep,
        summary="How the brain's parts are",
        response=answers.DeepHealth,
        **_READS,
    ),
    Route(
        path="/health/pipeline",
        handler=vault_health.pipeline,
        summary="Whether the vault is kept",
        response=answers.PipelineHealth,
        **_READS,
    ),
)
