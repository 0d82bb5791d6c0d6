"""A workspace's vault: what sessions read, pages, and what agents post."""

from collections.abc import AsyncGenerator, Mapping, Sequence

from openbrain.client.wire import Wire, write_headers
from openbrain.contract.vault import pages as contract

PAGE = 1000


class Vault:
    """Methods of the client for the vault. Those that read need the permission vault.read, the others vault.write."""

    _wire: Wire

    async def feed(self) -> contract.Feed:
        """What sessions read at their start."""
        return await self._wire.ask(contract.Feed, "GET", "/feed")

    async def alarm(self) -> contract.Alarm:
        """The gravest that burns."""
        return await self._wire.ask(contract.Alarm, "GET", "/signal")

    async def post_marker(
        self, kind: str, content: str, attrs: Mapping[str, str] | None = None, *, idempotency_key: str = ""
    ) -> contract.MarkerWritten:
        """A lesson, milestone, signal or decision; the same again writes nothing."""
        body = {"type": kind, "content": content, "attrs": dict(attrs or {})}
        headers = write_headers(idempotency_key)
        return await self._wire.ask(contract.MarkerWritten, "POST", "/marker", body=body, headers=headers)

    async def write_inbox(
        self, content: str, *, title: str | None = None, filename: str | None = None, tags: Sequence[str] = ()
    ) -> contract.PageWritten:
        """A page for the inbox; the next tick files it by its tags."""
        body = {"content": content, "title": title, "filename": filename, "tags": list(tags)}
        given = {name: value for name, value in body.items() if value is not None}
        return await self._wire.ask(contract.PageWritten, "POST", "/vault/write_inbox", body=given)

    async def index_artifact(
        self, key: str, content: str, *, producer: str | None = None, content_type: str | None = None
    ) -> contract.ArtifactIndexed:
        """Remember a text under a key, in the place of the one before. Needs brain.write."""
        body = {"key": key, "content": content, "producer": producer, "content_type": content_type}
        given = {name: value for name, value in body.items() if value is not None}
        return await self._wire.ask(contract.ArtifactIndexed, "POST", "/index_artifact", body=given)

    async def vault_list(self, path: str = "", *, limit: int = PAGE, cursor: str | None = None) -> contract.VaultList:
        """Files below a folder, by name."""
        query = {"path": path, "limit": limit, "cursor": cursor}
        return await self._wire.ask(contract.VaultList, "GET", "/vault/list", query=query)

    async def vault_files(self, path: str = "") -> AsyncGenerator[contract.VaultFile, None]:
        """All of them."""
        cursor: str | None = None
        while True:
            found = await self.vault_list(path, cursor=cursor)
            for file in found.files:
                yield file
            cursor = found.next_cursor
            if cursor is None:
                return

    async def vault_page(self, path: str) -> contract.VaultPage:
        """One file with its text."""
        return await self._wire.ask(contract.VaultPage, "GET", "/vault/read", query={"path": path})

    async def vault_search(self, words: str, *, path: str = "", limit: int = 20) -> contract.VaultFound:
        """Pages that hold every word."""
        query = {"q": words, "path": path, "limit": limit}
        return await self._wire.ask(contract.VaultFound, "GET", "/vault/search", query=query)

    async def deep_health(self) -> contract.DeepHealth:
        """How the brain's parts are."""
        return await self._wire.ask(contract.DeepHealth, "GET", "/health/deep")

    async def pipeline_health(self) -> contract.PipelineHealth:
        """Whether the vault is kept."""
        return await self._wire.ask(contract.PipelineHealth, "GET", "/health/pipeline")
