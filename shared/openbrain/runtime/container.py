"""The adapters of one process, created on first use and closed together. Nothing connects before it is used."""

from contextlib import AsyncExitStack
from functools import cached_property
from pathlib import Path
from typing import Self

from openbrain.domain.errors import OpenBrainError, SetupError
from openbrain.ports.clock import Clock
from openbrain.ports.content import ContentPolicy, PersonalDataRules
from openbrain.ports.http import Poster, Prober
from openbrain.ports.index import TextIndex, VectorIndex
from openbrain.ports.models import Embedder, Reasoner, TokenEncoder
from openbrain.ports.store.generations import Generation, IndexKind
from openbrain.ports.store.store import Store
from openbrain.ports.store.tenants import Rates
from openbrain.ports.streams import BroadcastStream, StreamAdmin, Wake
from openbrain.runtime import adapters
from openbrain.settings import NO_REASONER, Settings
from openbrain.streams.handling.runtime import consumer_name
from openbrain.usecases.backpressure import Pressure
from openbrain.usecases.indexes import serving_indexes
from openbrain.usecases.indexes.embedders import Embedders
from openbrain.usecases.indexes.index_writers import WritableIndexes
from openbrain.usecases.indexes.serving_indexes import LazyReady


class Container:
    """Resources shared by the services of a process. `shared`: the process runs every service, so embedded indexes are
    allowed."""

    def __init__(self, settings: Settings, *, shared: bool = False) -> None:
        self.settings = settings
        self.shared = shared

    @cached_property
    def clock(self) -> Clock:
        return adapters.clock()

    @cached_property
    def content_policy(self) -> ContentPolicy:
        return adapters.content_policy(self.settings, self._personal_data_rules, self.clock)

    async def _personal_data_rules(self) -> PersonalDataRules:
        return await self.store.workspaces.personal_data_rules()

    @property
    def transcripts(self) -> Path | None:
        """The folder of agents' transcripts: from the settings, or as allowed by the user of this machine."""
        return adapters.transcripts(self.settings)

    @cached_property
    def store(self) -> Store:
        return adapters.store(self.settings, self.clock)

    @cached_property
    def text(self) -> TextIndex:
        self._refuse_embedded("full-text index", self.settings.text.url, "OPENBRAIN_TEXT__URL")
        return adapters.text_index(self.settings)

    @cached_property
    def vectors(self) -> VectorIndex:
        self._refuse_embedded("vector index", self.settings.vectors.url, "OPENBRAIN_VECTORS__URL")
        return adapters.vector_index(self.settings)

    @cached_property
    def embedder(self) -> Embedder:
        """The model in the settings."""
        return adapters.embedder(self.settings)

    @cached_property
    def embedders(self) -> Embedders:
        """Models by name: the one of `embedder`, and those of the generations."""
        settings = self.settings
        return Embedders(
            lambda: self.embedder,
            lambda name: adapters.embedder(settings, name),
            lambda name: adapters.model_name(settings, name),
        )

    @cached_property
    def token_encoder(self) -> TokenEncoder | None:
        """The embedded model for token states; None if they are switched off or it can't run here."""
        from openbrain.adapters.embedding.minilm import MiniLM, available

        first = self.embedder
        if not self.settings.embedding.token_states:
            return None
        if isinstance(first, MiniLM):
            return first
        return MiniLM(threads=self.settings.embedding.threads) if available() else None

    @cached_property
    def wake(self) -> Wake:
        """Wakes the relay after a commit: within this process, or by a hint through Redis."""
        if self.shared:
            from openbrain.adapters.local.wake import LocalWake

            return LocalWake()
        from openbrain.streams.publishing.wake import RedisWake

        return RedisWake(self.settings.streams)

    @cached_property
    def pressure(self) -> Pressure:
        from openbrain.streams.redis.memory import StreamMemory

        memory = StreamMemory(self.settings.streams)
        return Pressure(
            self.store.outbox,
            memory,
            outbox_limit=self.settings.housekeeping.outbox_limit,
            memory_share=self.settings.streams.memory_share,
            disk=adapters.disk_space(self.settings).shortage,
            close=memory.close,
        )

    @cached_property
    def rates(self) -> Rates:
        """The rate counter: in this process, or in Redis for all replicas."""
        if self.shared:
            from openbrain.adapters.local.rates import LocalRates

            return LocalRates(self.clock)
        from openbrain.adapters.redis.rates import RedisRates

        return RedisRates(self.settings.streams, self.clock)

    @cached_property
    def streams(self) -> StreamAdmin:
        from openbrain.streams.operating.administration import RedisStreams

        return RedisStreams(self.settings.streams)

    @cached_property
    def poster(self) -> Poster:
        from openbrain.adapters.network.webhook_poster import HttpPoster

        return HttpPoster(self.settings.webhooks, self.clock)

    @cached_property
    def reasoner(self) -> Reasoner | None:
        """The model that ticks ask; None if there is none and ticks are deterministic."""
        return None if self.settings.reasoner.url == NO_REASONER else adapters.chat_reasoner(self.settings)

    @cached_property
    def prober(self) -> Prober:
        from openbrain.adapters.network.probes import Probes, checked_address

        for address in self.settings.vaults.probes.values():
            checked_address(address)
        return Probes()

    @cached_property
    def broadcast_stream(self) -> BroadcastStream:
        from openbrain.streams.publishing.broadcast_reader import RedisBroadcastStream

        return RedisBroadcastStream(self.settings.streams)

    @cached_property
    def text_generation(self) -> LazyReady[Generation]:
        """The serving full-text generation."""
        return LazyReady(
            lambda: serving_indexes.text_generation(
                self.store.generations, self.text, adapters.text_name(self.settings)
            )
        )

    @cached_property
    def vector_generation(self) -> LazyReady[Generation]:
        """The serving vector generation with its index, created with the first model if there is none."""
        return LazyReady(self._vector_generation)

    async def _vector_generation(self) -> Generation:
        await self._noted_vector_generation()
        return await serving_indexes.existing_vector_generation(self.store.generations, self.vectors)

    @cached_property
    def noted_vector_generation(self) -> LazyReady[Generation]:
        """The serving vector generation, recorded with the first model if there is none. For embedders: the index is
        created by its writers, so this does not wait for the vector server."""
        return LazyReady(self._noted_vector_generation)

    async def _noted_vector_generation(self) -> Generation:
        serving = await self.store.generations.serving(IndexKind.VECTOR)
        if serving is not None and not (self.shared and self._others_than_set(serving)):
            return serving
        try:
            _, identity = await self.embedders.current("")
        except OpenBrainError:
            # The model in the settings may no longer exist; that doesn't matter once another one serves.
            if serving is None:
                raise
            return serving
        builder, first = self.vectors.builder, adapters.vector_name(self.settings)
        return await serving_indexes.noted_vector_generation(
            self.store.generations, builder, identity, first, alone=self.shared
        )

    def _others_than_set(self, serving: Generation) -> bool:
        """True if the settings name another model than the serving one. They only take effect while nothing is
        stored."""
        try:
            return serving.model_name != adapters.model_name(self.settings)
        except SetupError:
            return False

    @cached_property
    def existing_vector_generation(self) -> LazyReady[Generation]:
        """The serving vector generation, for a process without a model."""
        return LazyReady(lambda: serving_indexes.existing_vector_generation(self.store.generations, self.vectors))

    def index(self, kind: IndexKind) -> TextIndex | VectorIndex:
        return self.text if kind is IndexKind.TEXT else self.vectors

    async def prepare_index(self, generation: Generation) -> None:
        """Create the index if necessary, so that it can be written."""
        if generation.kind is IndexKind.TEXT:
            await self.text.prepare(generation.name)
        else:
            await self.vectors.prepare(generation.name, generation.dimensions)

    @cached_property
    def text_writers(self) -> WritableIndexes:
        """The full-text generations that this process writes."""
        return self._writers(IndexKind.TEXT)

    @cached_property
    def vector_writers(self) -> WritableIndexes:
        """The vector generations that this process writes."""
        return self._writers(IndexKind.VECTOR)

    def _writers(self, kind: IndexKind) -> WritableIndexes:
        return WritableIndexes(self.store, kind, lambda: self.index(kind).builder, self.prepare_index, consumer_name())

    def _refuse_embedded(self, what: str, url: str, name: str) -> None:
        if url == adapters.EMBEDDED and not self.shared:
            raise SetupError(
                f"the embedded {what} can only be used by one process that runs all services: "
                f"set {name} to a server, or run them with `openbrain up`"
            )

    async def close(self) -> None:
        """Close all opened resources, even if closing one fails."""
        async with AsyncExitStack() as stack:
            for name in (
                "store",
                "text",
                "vectors",
                "embedders",
                "token_encoder",
                "embedder",
                "wake",
                "rates",
                "streams",
                "broadcast_stream",
                "poster",
                "reasoner",
                "prober",
                "pressure",
            ):
                part = self.__dict__.pop(name, None)
                if hasattr(part, "close"):
                    stack.push_async_callback(part.close)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
