"""bge-small-en-v1.5 in 8 bits: the embedded model of better quality, from our own package."""

from pathlib import Path

from openbrain.adapters.embedding.models import BGE, MODELS, SPLITTER_VERSION
from openbrain.adapters.embedding.onnx_sentences import SentenceModel, firsts, packaged
from openbrain.ports.models import ModelIdentity

PACKAGE = "openbrain-bge-small-en-int8"
WEIGHTS = "openbrain_bge_small_en_int8/model.onnx"
WEIGHTS_SHA256 = "6c9c6101a956d62dfb5e7190c538226c0c5bb9cb27b651234b6df063ee7dbfe4"
WEIGHTS_BYTES = 34_014_426
REMEDY = f"build and install {PACKAGE}, see docs/how-to/quality-profile.md"
KIND = SentenceModel(
    product="bge-small int8",
    identity=ModelIdentity(
        name=f"{BGE}-int8",
        digest=WEIGHTS_SHA256,
        dimensions=MODELS[BGE].dimensions,
        prompt_version=MODELS[BGE].prompt_version,
        splitter_version=SPLITTER_VERSION,
    ),
    model=MODELS[BGE],
    remedy=REMEDY,
    pooled=firsts,
    # Its 8 bits are scaled by the largest number in a batch: the same text alone and in a batch differ (cosine ≥ .989).
    batches=False,
)


def installed_weights() -> Path:
    """Return the path of the package's only file."""
    return packaged(PACKAGE, WEIGHTS, f"the model {BGE} is not installed: {REMEDY}")
