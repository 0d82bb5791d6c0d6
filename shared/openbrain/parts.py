"""The adapters of one process, made when first asked for and closed together."""

from contextlib import AsyncExitStack
from functools import cached_property
from types import TracebackType
from typing import Self

from openbrain import generations, wiring
from openbrain.errors import SetupError
from openbrain.generations import Prepared
from openbrain.ports.clock import Clock
from openbrain.ports.embedder import Embedder
from openbrain.ports.gate import WriteGate
from openbrain.ports.generations import Generation
from openbrain.ports.index import TextIndex, VectorIndex
from openbrain.ports.rates import Rates
from openbrain.ports.truth import Truth
from openbrain.ports.wake import Wake
from openbrain.settings import Settings


class Parts:
    """What the rooms of a process share. `shared`: the process runs every room, so embedded indexes are allowed."""

    def __init__(self, settings: Settings, *, shared: bool = False) -> None:
        self.settings = settings
        self.shared = shared

    @cached_property
    def clock(self) -> Clock:
        return wiring.system_clock()

    @cached_property
    def gate(self) -> WriteGate:
        return wiring.write_gate()

    @cached_property
    def truth(self) -> Truth:
        return wiring.truth(self.settings, self.clock)

    @cached_property
    def text(self) -> TextIndex:
        self._refuse_embedded("full-text index", self.settings.text.url, "OPENBRAIN_TEXT__URL")
        return wiring.text_index(self.settings)

    @cached_property
    def vectors(self) -> VectorIndex:
        self._refuse_embedded("vector index", self.settings.vectors.url, "OPENBRAIN_VECTORS__URL")
        return wiring.vector_index(self.settings)

    @cached_property
    def embedder(self) -> Embedder:
        return wiring.embedder(self.settings)

    @cached_property
    def wake(self) -> Wake:
        return wiring.wake(self.settings, in_process=self.shared)

    @cached_property
    def rates(self) -> Rates:
        return wiring.rates(self.settings, self.clock, in_process=self.shared)

    @cached_property
    def text_generation(self) -> Prepared[Generation]:
        """The serving full-text generation."""
        return Prepared(lambda: generations.text_generation(self.truth, self.text, wiring.text_name(self.settings)))

    @cached_property
    def vector_generation(self) -> Prepared[Generation]:
        """The serving vector generation, for who has the model."""

        async def prepare() -> Generation:
            identity = await self.embedder.identity()
            return await generations.vector_generation(
                self.truth, self.vectors, identity, wiring.vector_name(self.settings), alone=self.shared
            )

        return Prepared(prepare)

    @cached_property
    def existing_vector_generation(self) -> Prepared[Generation]:
        """The serving vector generation, for who has not."""
        return Prepared(lambda: generations.existing_vector_generation(self.truth, self.vectors))

    def _refuse_embedded(self, what: str, url: str, name: str) -> None:
        if url == wiring.EMBEDDED and not self.shared:
            raise SetupError(
                f"the embedded {what} belongs to one process, and a room started alone is not it: "
                f"set {name} to a server, or run everything with `openbrain up`"
            )

    async def close(self) -> None:
        """Close what was opened, all of it even where one fails."""
        async with AsyncExitStack() as stack:
            for name in ("truth", "text", "vectors", "embedder", "wake", "rates"):
                part = self.__dict__.pop(name, None)
                if hasattr(part, "close"):
                    stack.push_async_callback(part.close)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
