"""all-mpnet-base-v2: the embedded model of better quality, which `openbrain models install` fetches and builds."""

from pathlib import Path

from openbrain.adapters.embedding.models import MODELS, MPNET, SPLITTER_VERSION
from openbrain.adapters.embedding.onnx_sentences import OnnxSentences, SentenceModel
from openbrain.adapters.embedding.wordpiece import MPNET as NUMBERING
from openbrain.ports.models import ModelIdentity

WEIGHTS = "model.onnx"
WEIGHTS_SHA256 = "b89699aa4e582b4a2ef8dc8b2e3752c1a620cd51ffe8fdc2c88d0c0ba873b092"
"""Of the file that `building` makes: the same on every machine."""
WEIGHTS_BYTES = 121_422_577
KIND = SentenceModel(
    product="MPNet int8",
    identity=ModelIdentity(
        name=f"{MPNET}-int8",
        digest=WEIGHTS_SHA256,
        dimensions=MODELS[MPNET].dimensions,
        prompt_version=MODELS[MPNET].prompt_version,
        splitter_version=SPLITTER_VERSION,
    ),
    model=MODELS[MPNET],
    numbering=NUMBERING,
    remedy=f"run `openbrain models install {MPNET}`",
)


class MPNet(OnnxSentences):
    """Port `Embedder`, over the file that was built in `folder`."""

    def __init__(self, folder: Path, *, threads: int = 1) -> None:
        super().__init__(KIND, lambda: folder / WEIGHTS, threads=threads)
