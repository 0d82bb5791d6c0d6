"""Settings of the systems that OpenBrain runs on; each is embedded, or a server."""

from typing import Any

from pydantic import Field

from openbrain.settings.groups import Group, Seconds
from openbrain.settings.tuning import EmbeddingTuning, StreamTuning, TextTuning, TruthTuning, VectorsTuning


class Streams(Group):
    """Settings of Redis and of the readers of its streams."""

    url: str = Field("embedded", description="redis://, rediss://, unix://, redis+sentinel:// or `embedded`.")
    prefix: str = Field("", description="Put before every stream name, so that a server can be shared.")
    batch: int = Field(256, ge=1, le=1000, description="Entries a consumer takes at once, at most.")
    lease_s: Seconds = Field(60, description="After this long without a renewed lease an entry counts as abandoned.")
    backoff_s: tuple[Seconds, ...] = Field((10, 60, 300), description="Pauses between attempts after failures.")
    bound_workspaces: tuple[str, ...] = Field((), description="Workspaces with a separate submission stream.")
    retention_s: Seconds = Field(7 * 86_400, description="How long entries are kept at least; unread ones stay longer.")
    dead_retention_s: Seconds = Field(30 * 86_400, description="How long dead letters are kept.")
    maxmemory_mb: int = Field(512, ge=16, description="Memory limit of the embedded server.")
    memory_mb: int = Field(2048, ge=1, description="Assumed memory limit of a server without maxmemory.")
    memory_share: float = Field(
        0.85, gt=0, le=1, description="Share of the server's memory above which writes are refused until less is used."
    )
    tuning: StreamTuning = StreamTuning()


class Truth(Group):
    """The database."""

    url: str = Field("embedded", description="mysql+aiomysql://, sqlite+aiosqlite:/// or `embedded`.")
    pool: int = Field(
        8, ge=1, le=200, description="Connections per process for reads, and on MariaDB as many for writes."
    )
    tuning: TruthTuning = TruthTuning()


class Text(Group):
    """The full-text index."""

    url: str = Field("embedded", description="http(s):// of Elasticsearch, or `embedded` (tantivy).")
    index: str = Field("openbrain", description="First part of index and alias names.")
    verify_tls: bool = Field(True, description="Whether certificates are checked.")
    tuning: TextTuning = TextTuning()


class Vectors(Group):
    """The vector index."""

    url: str = Field(
        "embedded", description="qdrant+http(s)://, elasticsearch+http(s)://, http(s):// (Qdrant) or `embedded`."
    )
    api_key: str = Field("", repr=False, description="API key of the Qdrant server.")
    collection: str = Field("openbrain", description="First part of collection and alias names.")
    verify_tls: bool = Field(True, description="Whether certificates are checked.")
    collection_settings: dict[str, Any] = Field(
        default_factory=dict,
        description="Qdrant's parameters for new collections: `on_disk`, `quantization_config`, `shard_number`, "
        "`replication_factor` and others; see qdrant.md.",
    )
    tuning: VectorsTuning = VectorsTuning()


class Embedding(Group):
    """The embedder."""

    url: str = Field("embedded", description="http(s):// of Ollama, or `embedded` (on onnxruntime).")
    model: str = Field(
        "",
        description="Model of the first index: one of Ollama, or an embedded one (`openbrain models list`); change it "
        "later with `openbrain models change`. '': the default, embeddinggemma or the embedded all-minilm.",
    )
    threads: int = Field(1, ge=1, le=64, description="Threads of the embedded model.")
    token_states: bool = Field(
        True,
        description="Whether the embedded all-minilm also stores token states (the words of a memory in their "
        "context), whichever model computes the vectors: recall ranks by them. `openbrain reindex` adds missing "
        "ones.",
    )
    batch: int = Field(32, ge=1, le=512, description="Texts per call of the model.")
    timeout_s: Seconds = Field(60, description="Timeout of one call of the model.")
    tuning: EmbeddingTuning = EmbeddingTuning()
