"""Client methods for a workspace's vault: the feed, pages, posts of agents, and ticks."""

from collections.abc import AsyncGenerator, Mapping, Sequence

from openbrain.client.wire import Wire, given, in_path, pages, write_headers
from openbrain.contract.vault.arcs import ArcDetail, ArcsFound
from openbrain.contract.vault.pages import (
    Alarm,
    ArtifactIndexed,
    DeepHealth,
    Feed,
    MarkerWritten,
    PageWritten,
    PipelineHealth,
    VaultFile,
    VaultFound,
    VaultList,
    VaultPage,
)
from openbrain.contract.vault.ticks import TickAccepted, TickAnswer

PAGE = 1000


class Vault:
    """Client methods for the vault. Reads need the permission vault.read, ticks tick.run, the others vault.write."""

    _wire: Wire

    async def feed(self) -> Feed:
        """Return the entries that sessions read when they start."""
        return await self._wire.ask(Feed, "GET", "/feed")

    async def alarm(self) -> Alarm:
        """Return the most severe open alarm."""
        return await self._wire.ask(Alarm, "GET", "/signal")

    async def post_marker(
        self, kind: str, content: str, attrs: Mapping[str, str] | None = None, *, idempotency_key: str = ""
    ) -> MarkerWritten:
        """Post a lesson, milestone, signal or decision. Repeated with the same content it writes nothing."""
        body = {"type": kind, "content": content, "attrs": dict(attrs or {})}
        headers = write_headers(idempotency_key)
        return await self._wire.ask(MarkerWritten, "POST", "/marker", body=body, headers=headers)

    async def write_inbox(
        self, content: str, *, title: str | None = None, filename: str | None = None, tags: Sequence[str] = ()
    ) -> PageWritten:
        """Write a page to the vault's inbox; the next tick files it by its tags."""
        body = given(content=content, title=title, filename=filename, tags=list(tags))
        return await self._wire.ask(PageWritten, "POST", "/vault/write_inbox", body=body)

    async def index_artifact(
        self, key: str, content: str, *, producer: str | None = None, content_type: str | None = None
    ) -> ArtifactIndexed:
        """Store a text as a memory under a key, replacing the previous one. Needs brain.write."""
        body = given(key=key, content=content, producer=producer, content_type=content_type)
        return await self._wire.ask(ArtifactIndexed, "POST", "/index_artifact", body=body)

    async def vault_list(self, path: str = "", *, limit: int = PAGE, cursor: str | None = None) -> VaultList:
        """Return a page of the files below a folder, by name."""
        query = {"path": path, "limit": limit, "cursor": cursor}
        return await self._wire.ask(VaultList, "GET", "/vault/list", query=query)

    async def vault_files(self, path: str = "") -> AsyncGenerator[VaultFile, None]:
        """Yield all files below a folder."""
        async for page in pages(lambda cursor: self.vault_list(path, cursor=cursor)):
            for file in page.files:
                yield file

    async def vault_page(self, path: str) -> VaultPage:
        """Return one file with its text."""
        return await self._wire.ask(VaultPage, "GET", "/vault/read", query={"path": path})

    async def vault_search(self, words: str, *, path: str = "", limit: int = 20) -> VaultFound:
        """Return pages that contain every word."""
        query = {"q": words, "path": path, "limit": limit}
        return await self._wire.ask(VaultFound, "GET", "/vault/search", query=query)

    async def search_arcs(
        self,
        q: str,
        *,
        project: str | None = None,
        min_heat: int | None = None,
        min_score: float | None = None,
        limit: int | None = None,
    ) -> ArcsFound:
        """Find arcs by the words of a question, best first. Arcs below a heat of 2 are left out, unless `min_heat` is
        lower."""
        query = {"q": q, "project": project, "min_heat": min_heat, "min_score": min_score, "limit": limit}
        return await self._wire.ask(ArcsFound, "GET", "/vault/arcs", query=query)

    async def arc(self, arc_id: str) -> ArcDetail:
        """Return one arc with its page."""
        return await self._wire.ask(ArcDetail, "GET", f"/vault/arcs/{in_path(arc_id)}")

    async def deep_health(self) -> DeepHealth:
        """Return the health of the brain's parts."""
        return await self._wire.ask(DeepHealth, "GET", "/health/deep")

    async def pipeline_health(self) -> PipelineHealth:
        """Return whether the vault is being maintained."""
        return await self._wire.ask(PipelineHealth, "GET", "/health/pipeline")

    async def request_tick(
        self, *, dry_run: bool = False, ai: bool = True, extract: bool = False, key: str = ""
    ) -> TickAccepted:
        """Request a tick. `dry_run`: write nothing; the report contains the diff. Requests with the same `key` are the
        same tick."""
        query = {"dry_run": dry_run or None, "no_ai": not ai or None, "extract": extract or None}
        return await self._wire.ask(
            TickAccepted, "POST", "/tick", query=query, headers=write_headers(key), repeat=bool(key), well=(202,)
        )

    async def tick(self, job_id: str, *, wait: int = 0) -> TickAnswer:
        """Return a tick's state: at once, or with `wait` when it has ended, after `wait` seconds at the latest."""
        return await self._wire.ask(TickAnswer, "GET", f"/tick/{in_path(job_id)}", query={"wait": wait or None})
