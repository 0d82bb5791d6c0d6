"""Creates adapters from settings, if more is needed than the container knows. Nothing connects before first use."""

from collections.abc import Awaitable, Callable
from importlib.util import find_spec
from pathlib import Path

from openbrain.adapters.local.disk_space import DiskSpace
from openbrain.domain.errors import SetupError
from openbrain.ports.clock import Clock
from openbrain.ports.content import ContentPolicy, Detector, PersonalDataRules
from openbrain.ports.index import TextIndex, VectorIndex
from openbrain.ports.models import Embedder, Reasoner
from openbrain.ports.store.store import Store
from openbrain.settings import Settings

EMBEDDED = "embedded"


def clock() -> Clock:
    """A clock that follows the database once a store was created with it and queried; before that, the host's clock."""
    from openbrain.adapters.local.clock import DatabaseClock

    return DatabaseClock()


def content_policy(
    settings: Settings, rules: Callable[[], Awaitable[PersonalDataRules]] | None = None, clock: Clock | None = None
) -> ContentPolicy:
    """The content policy for every write: secrets, and personal data by each workspace's rule."""
    from openbrain.usecases.content.policy import DetectingPolicy

    chosen = settings.secrets.policy
    secrets = None if chosen == "store" else secret_detector()
    refuse = chosen == "refuse"
    return DetectingPolicy(secrets, personal_data_detector(), refuse_secrets=refuse, rules=rules, clock=clock)


def secret_detector() -> Detector:
    """Detector of keys, tokens and passwords."""
    from openbrain.adapters.local.secret_detector import SecretDetector

    return SecretDetector()


def personal_data_detector() -> Detector:
    """Detector of personal data."""
    from openbrain.adapters.personal_data.detection import PersonalDataDetector

    return PersonalDataDetector()


def transcripts(settings: Settings) -> Path | None:
    """The transcripts folder as currently allowed: the user may allow or forbid it at any time."""
    from openbrain.adapters.local.transcript_consent import transcripts_folder

    return settings.tick.projects_dir or transcripts_folder(settings.data_dir)


def store(settings: Settings, clock: Clock) -> Store:
    """The database. A clock that follows it gets its time."""
    from openbrain.adapters.local.clock import DatabaseClock
    from openbrain.adapters.sql.store import open_store

    return open_store(
        settings.truth,
        settings.data_dir,
        clock,
        follower=clock if isinstance(clock, DatabaseClock) else None,
        degraded_scan=settings.recall.tuning.degraded_scan,
        times=settings.signals.times(),
    )


def _need_engine(package: str, setting: str) -> None:
    if find_spec(package) is None:
        raise SetupError(f"this installation works with servers only and has no {package}: set {setting} to a server")


def text_index(settings: Settings) -> TextIndex:
    chosen = settings.text
    if chosen.url == EMBEDDED:
        _need_engine("tantivy", "OPENBRAIN_TEXT__URL")
        from openbrain.adapters.tantivy import TantivyText

        return TantivyText(settings.data_dir / "text", chosen.tuning.commit_ms, disk_space(settings).for_index)
    if chosen.url.startswith(("http://", "https://")):
        from openbrain.adapters.elasticsearch.text import ElasticsearchText

        return ElasticsearchText(
            chosen.url,
            f"{settings.streams.prefix}{chosen.index}",
            chosen.tuning.refresh_ms,
            chosen.verify_tls,
            chosen.tuning.timeout_s,
        )
    raise SetupError("OPENBRAIN_TEXT__URL must be http(s)://… of Elasticsearch, or `embedded`")


def vector_index(settings: Settings) -> VectorIndex:
    """The vector index; the URL's scheme selects the engine."""
    chosen = settings.vectors
    if chosen.url == EMBEDDED:
        _need_engine("qdrant_edge", "OPENBRAIN_VECTORS__URL")
        from openbrain.adapters.qdrant_edge.vectors import QdrantEdgeVectors

        return QdrantEdgeVectors(settings.data_dir / "vectors", disk_space(settings).for_index)
    name = f"{settings.streams.prefix}{chosen.collection}"
    product, _, rest = chosen.url.partition("+")
    if product == "elasticsearch" and rest.startswith(("http://", "https://")):
        from openbrain.adapters.elasticsearch.vectors import ElasticsearchVectors

        return ElasticsearchVectors(
            rest, name, settings.text.tuning.refresh_ms, chosen.verify_tls, chosen.tuning.timeout_s
        )
    url = rest if product == "qdrant" else chosen.url
    if url.startswith(("http://", "https://")):
        from openbrain.adapters.qdrant.vectors import QdrantVectors

        return QdrantVectors(
            url,
            name,
            api_key=chosen.api_key,
            verify_tls=chosen.verify_tls,
            timeout_s=chosen.tuning.timeout_s,
            settings=chosen.collection_settings,
        )
    raise SetupError(
        "OPENBRAIN_VECTORS__URL must be http(s)://… or qdrant+http(s)://… of Qdrant, elasticsearch+http(s)://…, "
        "or `embedded`"
    )


def embedder(settings: Settings, name: str = "") -> Embedder:
    """The embedding model with this name; '' is the one in the settings.

    With Ollama's URL, the full name of an embedded model still opens that one, so that a store can move between the
    two.
    """
    from openbrain.adapters.embedding.embedded_models import by_full_name, embedded_model

    chosen, wanted = settings.embedding, name or settings.embedding.model
    embedded = embedded_model(wanted) if chosen.url == EMBEDDED else by_full_name(wanted)
    if embedded is not None:
        return embedded.open(chosen.threads)
    if chosen.url.startswith(("http://", "https://")):
        from openbrain.adapters.embedding.ollama import Ollama

        return Ollama(
            chosen.url, wanted, batch=chosen.batch, timeout_s=chosen.timeout_s, keep_alive=chosen.tuning.keep_alive
        )
    raise SetupError("OPENBRAIN_EMBEDDING__URL must be http(s)://… of Ollama, or `embedded`")


def model_name(settings: Settings, name: str = "") -> str:
    """The stored name of a model, for any spelling of it; '' as above."""
    from openbrain.adapters.embedding.embedded_models import by_full_name, embedded_model
    from openbrain.adapters.embedding.models import server_name

    wanted = name or settings.embedding.model
    embedded = embedded_model(wanted) if settings.embedding.url == EMBEDDED else by_full_name(wanted)
    return server_name(wanted) if embedded is None else embedded.full_name


def disk_space(settings: Settings) -> DiskSpace:
    """Free space of the disks that embedded parts write to; none if all parts are servers."""
    urls = (settings.streams.url, settings.truth.url, settings.text.url, settings.vectors.url)
    inside = f"unix://{settings.data_dir.resolve()}/"
    folders = [settings.data_dir] if any(url == EMBEDDED or url.startswith(inside) for url in urls) else []
    if settings.truth.url.startswith("sqlite"):
        folders.append(Path(settings.truth.url.partition("///")[2]).absolute().parent)
    return DiskSpace(folders, settings.disk_reserve_mb)


def close_to_others(settings: Settings) -> None:
    """Make the data folder private, if it exists: a service has little in it, but only the owner may read it."""
    from openbrain.adapters.local.data_folder import make_private

    if settings.data_dir.is_dir():
        make_private(settings.data_dir, leave=settings.vaults.folders.values())


def text_name(settings: Settings) -> str:
    """The name of the first full-text generation."""
    return f"{settings.streams.prefix}{settings.text.index}-text-1"


def vector_name(settings: Settings) -> str:
    """The prefix of a vector generation's name; the model's key follows."""
    return f"{settings.streams.prefix}{settings.vectors.collection}-vectors"


def chat_reasoner(settings: Settings) -> Reasoner:
    """The model in the settings, which must name one."""
    chosen = settings.reasoner
    if not chosen.url.startswith(("http://", "https://")):
        raise SetupError("OPENBRAIN_REASONER__URL must be http(s)://… of a chat-completions server, or `none`")
    from openbrain.adapters.network.chat_reasoner import ChatReasoner

    return ChatReasoner(
        chosen.url,
        chosen.model,
        api_key=chosen.api_key,
        timeout_s=chosen.timeout_s,
        answer_tokens=chosen.answer_tokens,
        form=chosen.answer,
        verify_tls=chosen.verify_tls,
    )
