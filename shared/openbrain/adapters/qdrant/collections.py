"""The collections of a Qdrant server: creation, checks, and the alias for other readers."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

import structlog
from pydantic import ValidationError
from qdrant_client import AsyncQdrantClient, models
from qdrant_client.http.exceptions import UnexpectedResponse

from openbrain.adapters.indexes.entries import same_dimensions
from openbrain.adapters.qdrant.errors import translated
from openbrain.adapters.qdrant.filters import VECTOR
from openbrain.adapters.qdrant.reconciliation import clear_tombstones
from openbrain.domain.access.metadata_pairs import FIELD as METADATA_PAIRS
from openbrain.domain.access.visibility import KEYWORD_FIELDS
from openbrain.domain.errors import IndexMissing, SetupError, TryLater
from openbrain.ports.index import Checked

OLDEST, ADVISED = (1, 17), (1, 19)
_SETTING = "OPENBRAIN_VECTORS__COLLECTION_SETTINGS"
_OPERATORS = frozenset(
    {
        *("on_disk", "on_disk_payload", "quantization_config", "hnsw_config", "optimizers_config", "wal_config"),
        *("shard_number", "replication_factor", "write_consistency_factor", "strict_mode_config"),
    }
)
"""Settings of a collection that an operator may set, by Qdrant's names."""
_NOBODY = "00000000-0000-0000-0000-000000000000"
"""An id that no entry has."""

# Graphs are built per workspace only; the other fields filter the walk through a graph.
_KEYWORD = models.KeywordIndexParams(type=models.KeywordIndexType.KEYWORD, enable_hnsw=False)
_INTEGER = models.IntegerIndexParams(type=models.IntegerIndexType.INTEGER, enable_hnsw=False)
INDEXES: Mapping[str, Any] = {
    **dict.fromkeys((*KEYWORD_FIELDS, METADATA_PAIRS), _KEYWORD),
    "workspace_id": models.KeywordIndexParams(type=models.KeywordIndexType.KEYWORD, is_tenant=True),
    "confidence": models.FloatIndexParams(type=models.FloatIndexType.FLOAT, enable_hnsw=False),
    **dict.fromkeys(("occurred_at", "expires_at", "removed_at", "revision", "bucket"), _INTEGER),
}
FORMER_INDEX = "memory_id"
"""A field that earlier versions indexed and no filter uses. If it is indexed, they also wrote the tombstones."""
_log = structlog.get_logger(__name__)


class Collections:
    """The collections `<plain>-…` of one client. Generation `name` is the collection of that name, with the plain name
    and a hyphen as prefix if it lacks them. The alias `<plain>-vectors` points to the serving one: the first one
    created, until `expose` moves it."""

    def __init__(self, client: AsyncQdrantClient, plain: str, settings: Mapping[str, Any]) -> None:
        """`settings`: the operator's, for every collection created here; `SetupError` for one that Qdrant does not
        know."""
        self._client, self._plain = client, plain
        self._alias = f"{plain}-vectors"
        self._on_disk, self._settings = _checked(settings)
        self._dimensions: dict[str, int] = {}
        self._used: set[str] = set()
        self._written = False

    def collection(self, name: str) -> str:
        """Return the collection name of a generation."""
        return name if name.startswith(f"{self._plain}-") else f"{self._plain}-{name}"

    async def prepare(self, name: str, dimensions: int) -> None:
        """Create collection, payload indexes and alias if they are missing. `SetupError` if dimensions differ or the
        server is too old."""
        collection = self.collection(name)
        await self._supported()
        if not await self.exists(name):
            with translated():
                await self._create(collection, dimensions)
        same_dimensions(dimensions, await self._existing_dimensions(name), collection)
        with translated():
            indexed = (await self._client.get_collection(collection)).payload_schema
            for field, schema in INDEXES.items():
                if field not in indexed:
                    await self._client.create_payload_index(collection, field, field_schema=schema, wait=True)
            if FORMER_INDEX in indexed:
                await self._upgrade(collection)
            await self._keep_aliases(collection)
        self._written = True

    async def _upgrade(self, collection: str) -> None:
        """Upgrade a collection of an earlier version once: remove vectors that servers before 1.19 kept in tombstones.
        The index is deleted last, so an interrupted upgrade starts again."""
        cleared = await clear_tombstones(self._client, collection)
        await self._client.delete_payload_index(collection, FORMER_INDEX, wait=True)
        _log.info("qdrant.upgraded", collection=collection, vectors_removed=cleared)

    async def _create(self, collection: str, dimensions: int) -> None:
        """Create it without a global graph: every request names a workspace."""
        vectors = models.VectorParams(size=dimensions, distance=models.Distance.COSINE, on_disk=self._on_disk)
        try:
            await self._client.create_collection(collection, vectors_config={VECTOR: vectors}, **self._settings)
        except UnexpectedResponse:
            # Either another process created it first, or the server refuses it permanently.
            if not await self._client.collection_exists(collection):
                raise

    async def _keep_aliases(self, collection: str) -> None:
        aliases = await self._aliases()
        serving = aliases.get(self._alias, collection)
        if self._alias not in aliases:
            await self._point(self._alias, serving, aliases)
        if self._plain not in aliases:
            await self._point_plain(serving, aliases)

    async def _point(self, alias: str, collection: str, aliases: Mapping[str, str]) -> None:
        """Create or move the alias in one atomic request."""
        made = models.CreateAliasOperation(
            create_alias=models.CreateAlias(collection_name=collection, alias_name=alias)
        )
        dropped = models.DeleteAliasOperation(delete_alias=models.DeleteAlias(alias_name=alias))
        await self._client.update_collection_aliases([dropped, made] if alias in aliases else [made])

    async def _point_plain(self, collection: str, aliases: Mapping[str, str]) -> None:
        """Point the plain name, for other readers, to the collection. If it is the name or alias of a foreign
        collection, leave it."""
        others = not aliases.get(self._plain, collection).startswith(f"{self._plain}-")
        try:
            if not others:
                await self._point(self._plain, collection, aliases)
        except UnexpectedResponse as error:
            if error.status_code is None or error.status_code >= HTTPStatus.INTERNAL_SERVER_ERROR:
                raise
            others = True
        if others:
            _log.warning("qdrant.name_taken", name=self._plain, message="another collection has it: it stays as it is")

    async def _aliases(self) -> Mapping[str, str]:
        """Return the collection of each alias."""
        return {alias.alias_name: alias.collection_name for alias in (await self._client.get_aliases()).aliases}

    async def exists(self, name: str) -> bool:
        """Ask the server whether the collection exists; if not, forget its cached dimensions."""
        with translated():
            exists = await self._client.collection_exists(self.collection(name))
        if not exists:
            self._dimensions.pop(name, None)
        return exists

    async def _standing(self, name: str) -> str:
        """Return the collection name after checking that it exists and is ours."""
        await self._existing_dimensions(name)
        return self.collection(name)

    async def _existing_dimensions(self, name: str) -> int:
        """Return the dimensions of its vectors; asked once. `TryLater` if it is missing, `SetupError` if it is not
        ours."""
        if name not in self._dimensions:
            self._used.add(name)
            collection = self.collection(name)
            if not await self.exists(name):
                raise IndexMissing(collection)
            with translated():
                vectors = (await self._client.get_collection(collection)).config.params.vectors
            if not isinstance(vectors, dict) or VECTOR not in vectors:
                raise SetupError(
                    f"collection {collection} was not made by OpenBrain: set OPENBRAIN_VECTORS__COLLECTION"
                )
            self._dimensions[name] = vectors[VECTOR].size
        return self._dimensions[name]

    async def expose(self, name: str) -> None:
        """Point the alias and the plain name to this generation."""
        with translated():
            aliases = await self._aliases()
            await self._point(self._alias, self.collection(name), aliases)
            await self._point_plain(self.collection(name), aliases)

    async def drop(self, name: str) -> None:
        """Delete the collection, if it exists."""
        with translated():
            await self._client.delete_collection(self.collection(name))
        self._dimensions.pop(name, None)
        self._used.discard(name)

    async def check(self) -> Checked:
        """Check the key with a request that needs a valid one, the collections this process uses, and, if this process
        writes, its write access with a delete that matches nothing. `TryLater` if a collection in use is missing."""
        version = await self._version()
        with translated():
            collection = (await self._aliases()).get(self._alias)
            # By the collection's name: a key may be restricted to collections, which excludes the alias.
            if collection is not None and self._written and collection in map(self.collection, self._dimensions):
                nobody = models.Filter(must=[models.HasIdCondition(has_id=[_NOBODY])])
                await self._client.delete(collection, models.FilterSelector(filter=nobody), wait=True)
        problems = [problem] if (problem := _too_old(version)) else []
        if collection is None and self._used:
            # A deleted collection takes its alias with it.
            missing = [self.collection(item) for item in sorted(self._used) if not await self.exists(item)]
            if missing:
                raise TryLater(
                    f"collection {', '.join(missing)} is missing, and the alias {self._alias}: restart a service "
                    "that writes vectors, which makes it anew, then run `openbrain reindex --vectors`"
                )
            problems.append(f"the alias {self._alias} is missing: restart a service that writes vectors")
        return Checked("Qdrant", version, tuple(problems))

    async def _supported(self) -> None:
        version = await self._version()
        if (problem := _too_old(version)) is not None:
            raise SetupError(f"Qdrant: {problem}")
        if _number(version) < ADVISED:
            _log.warning("qdrant.older", version=version, message=f"version {_dotted(ADVISED)} or later is advised")

    async def _version(self) -> str:
        with translated():
            return (await self._client.info()).version


def _too_old(version: str) -> str | None:
    if _number(version) >= OLDEST:
        return None
    return f"version {version} is older than {_dotted(OLDEST)}, the oldest that is supported: upgrade it"


def _number(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.partition("-")[0].split(".")[:2])


def _dotted(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))


def _checked(settings: Mapping[str, Any]) -> tuple[bool | None, Mapping[str, Any]]:
    """Return whether vectors are stored on disk, and the other collection settings with our defaults."""
    unknown = sorted(settings.keys() - _OPERATORS)
    if unknown:
        raise SetupError(f"{_SETTING}: {', '.join(unknown)} can't be set, only {', '.join(sorted(_OPERATORS))}")
    graphs = settings.get("hnsw_config", {})
    given = {**settings, "hnsw_config": {"m": 0, "payload_m": 16, **graphs} if isinstance(graphs, Mapping) else graphs}
    try:
        vectors = models.VectorParams(size=1, distance=models.Distance.COSINE, on_disk=given.pop("on_disk", None))
        made = models.CreateCollection(**given)
    except ValidationError as error:
        raise SetupError(f"{_SETTING}: {_first(error)}; see docs/reference/qdrant.md") from None
    return vectors.on_disk, {name: getattr(made, name) for name in given}


def _first(error: ValidationError) -> str:
    problem = error.errors()[0]
    return f"{'.'.join(str(part) for part in problem['loc'])}: {problem['msg']}"
