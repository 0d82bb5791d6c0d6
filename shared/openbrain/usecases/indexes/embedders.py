"""The embedding models of a process, by name: each created on first use, all closed together.

Vectors of different models can't be compared. So callers use `ready`, which returns the model that made a generation
and raises if the name now refers to another model.
"""

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack

from openbrain.domain.errors import ModelChanged, OpenBrainError, SetupError
from openbrain.ports.index import Checked
from openbrain.ports.models import Embedder, ModelIdentity, cut_otherwise
from openbrain.ports.store.generations import Generation


class Embedders:
    """`first` opens the model of the settings, `make` one by name. `canonical` returns the unique name for any spelling
    of a model's name, and that of the first for ''. All three may raise `SetupError`."""

    def __init__(
        self, first: Callable[[], Embedder], make: Callable[[str], Embedder], canonical: Callable[[str], str]
    ) -> None:
        self._make_first, self._make, self._canonical = first, make, canonical
        self._first: Embedder | None = None
        self._by_name: dict[str, Embedder] = {}
        self._by_key: dict[str, Embedder] = {}
        self._opened: list[Embedder] = []
        self._lock = asyncio.Lock()

    @property
    def first(self) -> Embedder:
        """The model of the settings: it makes the first generation; later the serving generation decides."""
        if self._first is None:
            self._first = self._by_name[self._canonical("")] = self._make_first()
            self._opened.append(self._first)
        return self._first

    @property
    def setting(self) -> str:
        """The name of the first model; '' if the settings name an unknown one."""
        try:
            return self._canonical("")
        except SetupError:
            return ""

    async def current(self, name: str) -> tuple[Embedder, ModelIdentity]:
        """Return the model that now has this name ('' is the first), and its identity. Raise `SetupError` if there is
        none, `TryLater` if its server is unavailable."""
        async with self._lock:
            embedder = self._named(name)
            if not await embedder.unchanged():
                embedder = self._make(self._canonical(name))
                self._by_name[self._canonical(name)] = embedder
                self._opened.append(embedder)
            identity = await embedder.identity()
            self._by_key.setdefault(identity.key, embedder)
            return embedder, identity

    async def ready(self, generation: Generation) -> Embedder:
        """Return the model that made this generation. Raise `ModelChanged` if its name now refers to another model;
        else raise like `current`."""
        known = self._by_key.get(generation.model)
        if known is not None:
            return known
        reason: OpenBrainError
        try:
            embedder, identity = await self.current(generation.model_name)
        except SetupError as error:
            reason = error
        else:
            if identity.key == generation.model:
                return embedder
            reason = ModelChanged(_changed(generation, identity))
        # A model passed in as an object need not be known by its name.
        if await self._first_made(generation):
            return self.first
        raise reason

    async def for_questions(self, generation: Generation) -> Embedder:
        """Return the model for questions to this generation: as `ready`, or one that differs only in how documents are
        split, which must not embed documents for it."""
        known = self._by_key.get(generation.model)
        if known is not None:
            return known
        same = next((item for key, item in self._by_key.items() if cut_otherwise(key, generation.model)), None)
        if same is not None:
            return same
        try:
            return await self.ready(generation)
        except ModelChanged:
            embedder, identity = await self.current(generation.model_name)
            if cut_otherwise(identity.key, generation.model):
                return embedder
            raise

    def for_passages(self, generation: Generation) -> Embedder:
        """Return a model of that name, only for splitting texts into model inputs. Its server is not called and may be
        unavailable. Raise `SetupError` if the name is unknown here."""
        return self._by_key.get(generation.model) or self._named(generation.model_name)

    async def check(self, generation: Generation | None) -> Checked:
        """Check the model of a generation, or the first one. Raises like `ready`, also if the model has changed
        since."""
        if generation is None:
            return await self.first.check()
        embedder = await self.ready(generation)
        if not await embedder.unchanged():
            _, identity = await self.current(generation.model_name)
            raise ModelChanged(_changed(generation, identity))
        return await embedder.check()

    async def close(self) -> None:
        """Close all opened models, even if closing one fails."""
        async with AsyncExitStack() as stack:
            for item in self._opened:
                stack.push_async_callback(item.close)
        self._first, self._opened = None, []
        self._by_name.clear()
        self._by_key.clear()

    def _named(self, name: str) -> Embedder:
        if not name:
            return self.first
        wanted = self._canonical(name)
        if wanted not in self._by_name and self._is_first(wanted):
            return self.first
        if wanted not in self._by_name:
            self._by_name[wanted] = self._make(wanted)
            self._opened.append(self._by_name[wanted])
        return self._by_name[wanted]

    def _is_first(self, wanted: str) -> bool:
        try:
            return self._first is None and wanted == self._canonical("")
        except SetupError:
            return False

    async def _first_made(self, generation: Generation) -> bool:
        try:
            return (await self.first.identity()).key == generation.model
        except OpenBrainError:
            return False


def _changed(generation: Generation, identity: ModelIdentity) -> str:
    return (
        f"the serving vectors come from {generation.model}, but {identity.name} is now {identity.key}: "
        f"`openbrain models change {identity.name}` embeds everything with it, or restore the old one"
    )
