"""Embeddings by Ollama (`/api/embed`). No text is truncated: the server is asked to refuse texts that are too long."""

import asyncio
from array import array
from collections.abc import Iterator, Sequence

import numpy as np
import structlog

from openbrain.adapters.embedding.models import SPLITTER_VERSION, model, server_name
from openbrain.adapters.embedding.ollama.http import OllamaHttp, RunnerDied, TooLong
from openbrain.adapters.embedding.passages import break_words, passages
from openbrain.adapters.embedding.unit_vectors import mean_direction, unit_vectors
from openbrain.domain.errors import ModelChanged, NeverRetry, OpenBrainError, SetupError, TryLater
from openbrain.ports.index import Checked
from openbrain.ports.models import ModelIdentity

CHARS_A_REQUEST = 16_000
"""Limit per request, so that a request of long texts ends within the timeout on a slow machine too."""
SECOND_TRY_S = 0.3

# Equal to a correct tokenizer: WordPiece strips accents and splits off quotes and signs.
_PROBE = ("crème brûlée “déjà vu” x=y+z", "creme brulee “ deja vu ” x = y + z")
_PROBE_COSINE = 0.98

_log = structlog.get_logger(__name__)


class Ollama:
    """Port `Embedder`."""

    def __init__(
        self, url: str, name: str = "", *, batch: int = 32, timeout_s: float = 60, keep_alive: str = "30m"
    ) -> None:
        """`name` as in `ollama pull NAME`; '' takes the default model."""
        self._name = server_name(name)
        self._model = model(self._name)
        self._http = OllamaHttp(url, timeout_s=timeout_s)
        self._batch = batch
        self._keep_alive = keep_alive
        self._identity: ModelIdentity | None = None

    async def identity(self) -> ModelIdentity:
        if self._identity is None:
            self._identity = await self._ask_identity()
        return self._identity

    async def unchanged(self) -> bool:
        return await self._digest() == (await self.identity()).digest

    def passages(self, text: str, header: str) -> Sequence[str]:
        return passages(text, header, self._model)

    async def embed(self, inputs: Sequence[str]) -> Sequence["array[float]"]:
        try:
            dimensions = (await self.identity()).dimensions
        except SetupError as error:
            raise TryLater(str(error)) from error
        sent = {text: break_words(text, self._model.word_chars) or " " for text in inputs}
        vectors: dict[str, array[float]] = {}
        for texts in self._requests(sorted(dict.fromkeys(sent.values()), key=len)):
            vectors.update(zip(texts, await self._embed_texts(texts, dimensions), strict=True))
        await self._require_unchanged()
        return [vectors[sent[text]] for text in inputs]

    async def embed_query(self, query: str) -> "array[float]":
        return (await self.embed_queries([query]))[0]

    async def embed_queries(self, queries: Sequence[str]) -> Sequence["array[float]"]:
        return await self.embed([self._model.query_prompt + query for query in queries])

    async def check(self) -> Checked:
        version = await self._http.version()
        try:
            problems = [*await self._changed_weights(), *await self._wrong_tokens()]
        except SetupError as error:
            problems = [str(error)]
        return Checked(f"Ollama with {self._name}", version, tuple(problems))

    async def close(self) -> None:
        await self._http.close()

    def _requests(self, texts: Sequence[str]) -> Iterator[list[str]]:
        """Group texts, sorted by rising length, into one request each."""
        group: list[str] = []
        for text in texts:
            if group and (len(group) == self._batch or (len(group) + 1) * len(text) > CHARS_A_REQUEST):
                yield group
                group = []
            group.append(text)
        if group:
            yield group

    async def _embed_texts(self, texts: list[str], dimensions: int) -> "list[array[float]]":
        try:
            return self._vectors(await self._ask(texts), dimensions)
        except TooLong:
            if len(texts) == 1:
                _log.warning("embedder.input_halved", model=self._name, characters=len(texts[0]))
                return [await self._embed_halves(texts[0], dimensions)]
        middle = len(texts) // 2
        parts = texts[:middle], texts[middle:]
        return [vector for part in parts for vector in await self._embed_texts(part, dimensions)]

    async def _embed_halves(self, text: str, dimensions: int) -> "array[float]":
        """Return the mean direction of the vectors of both halves; split between words if possible."""
        if len(text) < 2:
            raise NeverRetry(f"{self._name} finds one character too long: its window (num_ctx) is set too small")
        cut = text.rfind(" ", 1, len(text) // 2) + 1 or len(text) // 2
        vectors = []
        for half in (text[:cut], text[cut:]):
            try:
                vectors += self._vectors(await self._ask([half]), dimensions)
            except TooLong:
                vectors.append(await self._embed_halves(half, dimensions))
        return mean_direction(vectors)

    async def _ask(self, texts: list[str]) -> list[list[float]]:
        try:
            return await self._http.embed(self._name, texts, self._keep_alive)
        except RunnerDied:
            await asyncio.sleep(SECOND_TRY_S)
        try:
            return await self._http.embed(self._name, texts, self._keep_alive)
        except RunnerDied:
            await self._http.embed(self._name, ["a"], self._keep_alive)
        # A text that crashes the runner every time must not block the others for ever: count this as its failed
        # attempt.
        raise OpenBrainError(
            f"{self._name} ended twice on one of {len(texts)} inputs, yet answers others: see Ollama's log"
        )

    def _vectors(self, rows: list[list[float]], dimensions: int) -> "list[array[float]]":
        lengths = {len(row) for row in rows} - {dimensions}
        if lengths:
            raise ModelChanged(
                f"{self._name} now gives {min(lengths)} dimensions, and gave {dimensions} before: {self._remedy()}"
            )
        try:
            return unit_vectors(np.asarray(rows, dtype=np.float64))
        except ValueError:
            raise NeverRetry(
                f"{self._name} gave no direction (zero or not a number) for one of {len(rows)} inputs"
            ) from None

    async def _ask_identity(self) -> ModelIdentity:
        digest = await self._digest()
        try:
            rows = await self._ask(["a"])
        except NeverRetry as error:
            raise SetupError(f"{self._name} can't embed: choose another model ({error})") from None
        expected = self._model.dimensions or len(rows[0])
        if len(rows[0]) != expected:
            raise SetupError(
                f"{self._name} at {self._http.place} gives {len(rows[0])} dimensions, known are {expected}"
            )
        return ModelIdentity(
            name=self._name,
            digest=digest,
            dimensions=expected,
            prompt_version=self._model.prompt_version,
            splitter_version=SPLITTER_VERSION,
        )

    async def _digest(self) -> str:
        digests = await self._http.digests()
        digest = digests.get(self._name) or digests.get(f"{self._name}:latest")
        if digest is None:
            raise SetupError(f"Ollama at {self._http.place} does not have the model: run `ollama pull {self._name}`")
        return digest.removeprefix("sha256:")

    async def _require_unchanged(self) -> None:
        """Check after embedding that the weights have not changed: the server uses the weights that the name refers to
        at that moment, and its answers don't say which."""
        try:
            unchanged = await self.unchanged()
        except SetupError as error:
            raise TryLater(str(error)) from error
        if not unchanged:
            raise ModelChanged(self._other_weights())

    async def _changed_weights(self) -> list[str]:
        return [] if await self.unchanged() else [self._other_weights()]

    def _other_weights(self) -> str:
        return f"{self._name} was pulled again and is another model now: {self._remedy()}"

    def _remedy(self) -> str:
        return f"`openbrain models change {self._name}` embeds everything with it, or put the old one back"

    async def _wrong_tokens(self) -> list[str]:
        """Check the tokenizer: some versions of Ollama read accents, curly quotes and signs wrongly for BERT models."""
        if not self._model.wordpiece:
            return []
        one, other = await self.embed(_PROBE)
        cosine = sum(a * b for a, b in zip(one, other, strict=True))
        if cosine > _PROBE_COSINE:
            return []
        return [
            f"this Ollama reads accents and signs wrongly for {self._name} (cosine {cosine:.2f}): use another version"
        ]
