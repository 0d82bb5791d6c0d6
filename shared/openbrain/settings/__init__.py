"""All settings. Only this package reads the environment and the settings file.

A setting's name is `OPENBRAIN_` plus group and name, as in OPENBRAIN_STREAMS__URL; the original names are accepted too.
A file `openbrain.toml` sets the same in tables (`settings.file`); the environment wins over it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

from pydantic import AliasChoices, Field, field_validator
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict, SettingsError

from openbrain.domain.limits import WAIT_SECONDS
from openbrain.domain.memory import HALF_LIFE_DAYS, MemoryType
from openbrain.settings.events import Events
from openbrain.settings.file import names, read_settings, settings_file
from openbrain.settings.groups import Group, Seconds
from openbrain.settings.mistakes import not_json, refuse_unknown
from openbrain.settings.server import Server
from openbrain.settings.signals import Signals
from openbrain.settings.ticks import Tick
from openbrain.settings.tuning import (
    EmbeddingTuning,
    HousekeepingTuning,
    RecallTuning,
    StreamTuning,
    TextTuning,
    TruthTuning,
    VaultTuning,
    VectorsTuning,
)
from openbrain.settings.webhooks import Webhooks


class Streams(Group):
    """Redis and the reading of streams."""

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
    pool: int = Field(8, ge=1, le=200, description="Connections per process, at most.")
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


NO_REASONER = "none"


class Reasoner(Group):
    """The model that each tick asks once about the vault."""

    url: str = Field(
        NO_REASONER,
        description="http(s):// of a server with `chat/completions`, including the version, as in "
        "http://127.0.0.1:11434/v1 for Ollama; `none`: ticks are deterministic.",
    )
    model: str = Field("", description="Name of a model on that server.")
    api_key: str = Field("", repr=False, description="Sent as a bearer token.")
    timeout_s: Seconds = Field(120, description="Timeout of the call.")
    prompt_chars: int = Field(100_000, ge=2000, le=400_000, description="The prompt is cut to this many characters.")
    answer_tokens: int = Field(4096, ge=64, description="The answer is cut to this many tokens.")
    answer: Literal["schema", "json", "text"] = Field(
        "schema", description="How JSON is requested: by a JSON Schema, as any object, or only in words."
    )
    verify_tls: bool = Field(True, description="Whether certificates are checked.")


class Recall(Group):
    """Settings of recall."""

    text_weight: float = Field(
        0.65, ge=0, le=1, description="Weight of the keyword score in the fusion; vectors have the rest."
    )
    late_weight: float = Field(
        0.4,
        ge=0,
        le=1,
        description="Weight of late interaction (token states of the memory and the question, compared word by word) "
        "against the fused score, for memories with token states; 0 turns it off.",
    )
    neighbours: bool = Field(True, description="Whether a turn's neighbours in its session add to its score.")
    name_lift: float = Field(0.15, ge=0, le=1, description="Added to the score of a memory that the question names.")
    time_lift: float = Field(
        0.1,
        ge=0,
        le=1,
        description="Added to the score of a memory of a time that the question names; 0: times are ignored.",
    )
    project_margin: float = Field(
        0.08, ge=0, le=1, description="Subtracted from the score of memories that are not of the requested project."
    )
    spread: bool = Field(
        True, description="Whether hits from few sessions give up places to similar turns of other sessions."
    )
    fold: bool = Field(True, description="Whether near-equal memories are folded into the first of them.")
    precision: Literal["exact", "balanced", "recall"] = Field(
        "balanced",
        description="Default of requests: `exact` only similar hits, `balanced` no hits if even the best is not "
        "similar, `recall` whatever was found.",
    )
    half_life_days: dict[MemoryType, float | None] = Field(
        default_factory=lambda: dict(HALF_LIFE_DAYS),
        description="Days after which confidence counts half, by type; null: never decays.",
    )
    keep_queries: bool = Field(False, description="Whether the text of questions is stored and published.")
    tuning: RecallTuning = RecallTuning()


class Housekeeping(Group):
    """Settings of the housekeeper."""

    outbox_limit: int = Field(
        1_000_000,
        ge=1,
        description="Unpublished events, at most: at this number writes are refused until some are published.",
    )
    verify_every_s: Seconds = Field(3600, description="How often every index is verified against the database.")
    tuning: HousekeepingTuning = HousekeepingTuning()


class Vaults(Group):
    """Folders of Markdown that ticks maintain and agents read."""

    folders: dict[str, Path] = Field(
        default_factory=dict,
        description="Workspace to the folder of its vault; a workspace not listed has no vault (404).",
    )
    probes: dict[str, str] = Field(
        default_factory=dict,
        description="Probes that a signal's `verify` may name: a name to http(s)://…, tcp://host:port or file:///path.",
    )
    tuning: VaultTuning = VaultTuning()

    @field_validator("folders")
    @classmethod
    def _apart(cls, folders: dict[str, Path]) -> dict[str, Path]:
        """Refuse shared or nested folders: a vault's pages become one workspace's memories, with one writer per
        workspace."""
        places = [folder.expanduser().absolute() for folder in folders.values()]
        real = [place.resolve() for place in places]  # two names, as by a link or `..`, may mean one folder
        if any(one != other and one.is_relative_to(other) for one in real for other in real):
            raise ValueError("a vault must not be inside another one")
        if len(set(real)) < len(real):
            raise ValueError("a vault must belong to one workspace only")
        return dict(zip(folders, places, strict=True))


class Secrets(Group):
    """Keys, tokens, passwords, private keys and connection strings in what is to be stored."""

    policy: Literal["mask", "refuse", "store"] = Field(
        "mask",
        description="`mask` replaces them by their kind, `refuse` refuses the write and names the field.",
    )


class Logs(Group):
    """Settings of logs."""

    level: str = Field("INFO", description="DEBUG, INFO, WARNING or ERROR.")
    json_lines: bool | None = Field(
        None, description="One JSON object per line, or readable lines; null: readable in a terminal, JSON elsewhere."
    )

    @field_validator("level")
    @classmethod
    def _known_level(cls, level: str) -> str:
        if level.upper() not in ("DEBUG", "INFO", "WARNING", "ERROR"):
            raise ValueError("must be DEBUG, INFO, WARNING or ERROR")
        return level.upper()


class Settings(BaseSettings):
    """All settings, by group."""

    model_config = SettingsConfigDict(
        env_prefix="OPENBRAIN_", env_nested_delimiter="__", frozen=True, extra="ignore", populate_by_name=True
    )

    config: Path | None = Field(
        None, description="The settings file, like `--config`; by default `~/.openbrain/openbrain.toml`."
    )
    data_dir: Path = Field(Path.home() / ".openbrain", description="Folder of the data of all embedded parts.")
    disk_reserve_mb: int = Field(
        128,
        ge=0,
        description="Free space to keep on that disk, at most an eighth of it: with less, writes are refused.",
    )
    otlp_endpoint: str = Field(
        "",
        validation_alias=AliasChoices("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"),
        description="Where traces are sent, by OTLP over HTTP, as in http://collector:4318; empty: no tracing.",
    )
    streams: Streams = Streams()
    truth: Truth = Truth()
    text: Text = Text()
    vectors: Vectors = Vectors()
    embedding: Embedding = Embedding()
    recall: Recall = Recall()
    housekeeping: Housekeeping = Housekeeping()
    tick: Tick = Tick()
    signals: Signals = Signals()
    webhooks: Webhooks = Webhooks()
    events: Events = Events()
    vaults: Vaults = Vaults()
    reasoner: Reasoner = Reasoner()
    server: Server = Server()
    secrets: Secrets = Secrets()
    logs: Logs = Logs()

    @field_validator("data_dir", mode="before")
    @classmethod
    def _named(cls, folder: str | Path) -> Path:
        """An empty name counts as none: as the working folder it would be closed to others, with all that is in it."""
        return Path(folder).expanduser() if str(folder) else cls.model_fields["data_dir"].default

    ollama_url: str = Field(
        "",
        validation_alias=AliasChoices("BRAIN_OLLAMA_URL", "OLLAMA_URL"),
        description="Original name of `embedding.url`.",
    )
    qdrant_url: str = Field(
        "",
        validation_alias=AliasChoices("BRAIN_QDRANT_URL", "QDRANT_URL"),
        description="Original name of `vectors.url`.",
    )
    elasticsearch_url: str = Field(
        "", validation_alias=AliasChoices("ELASTICSEARCH_URL"), description="Original name of `text.url`."
    )
    collection: str = Field(
        "", validation_alias=AliasChoices("BRAIN_COLLECTION"), description="Original name of `vectors.collection`."
    )
    elastic_index: str = Field(
        "", validation_alias=AliasChoices("BRAIN_ELASTIC_INDEX"), description="Original name of `text.index`."
    )
    embedding_model: str = Field(
        "", validation_alias=AliasChoices("BRAIN_EMBEDDING_MODEL"), description="Original name of `embedding.model`."
    )
    verify_ssl: bool = Field(
        True,
        validation_alias=AliasChoices("BRAIN_VERIFY_SSL"),
        description="Original name of `verify_tls` of text and vectors.",
    )

    async_embed: bool = Field(
        True,
        validation_alias=AliasChoices("BRAIN_ASYNC_EMBED"),
        description="false: same as the longest `server.wait_s`.",
    )

    def aliases(self) -> dict[str, dict[str, object]]:
        """Return the values of the original names, by group and name; '' if unset."""
        checked = "" if self.verify_ssl else False
        return {
            "text": {"url": self.elasticsearch_url, "index": self.elastic_index, "verify_tls": checked},
            "vectors": {"url": self.qdrant_url, "collection": self.collection, "verify_tls": checked},
            "embedding": {"url": self.ollama_url, "model": self.embedding_model},
            "server": {"wait_s": "" if self.async_embed else WAIT_SECONDS},
        }

    def with_aliases(self) -> "Settings":
        """Return the settings with the original names applied to their groups; a group's own setting wins."""
        aliases = self.aliases().items()
        return self.model_copy(update={name: _fold(getattr(self, name), given) for name, given in aliases})


def _fold(group: Group, aliases: Mapping[str, object]) -> Group:
    given = {name: value for name, value in aliases.items() if value != "" and name not in group.model_fields_set}
    return group.model_copy(update=given)


class _FromFile(Settings):
    """Settings from a file; the environment wins over it."""

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        del settings_cls, dotenv_settings, file_secret_settings
        return env_settings, init_settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """The settings of a process, and their sources."""

    settings: Settings
    environment: Settings
    """The settings from the environment only."""
    file: Path | None
    in_file: frozenset[tuple[str, ...]]
    """Paths of the members of `Settings` that the file sets."""


def _over(from_file: Group, environment: Group, folded: Iterable[str]) -> Group:
    """Return a group with the original names from the environment applied; they win over the file too."""
    names_set = [name for name in folded if name in environment.model_fields_set]
    return from_file.model_copy(update={name: getattr(environment, name) for name in names_set})


@cache
def loaded() -> Loaded:
    """Load the settings; cached. Raise `SetupError` for a variable that is no setting, or no JSON as it should."""
    refuse_unknown(Settings)
    try:
        environment = Settings().with_aliases()
    except SettingsError:
        raise not_json(Settings) from None
    file = settings_file(environment.config)
    if file is None:
        return Loaded(settings=environment, environment=environment, file=None, in_file=frozenset())
    table = read_settings(file, Settings.model_fields.keys() - {"config"})
    from_file = _FromFile(**table).with_aliases()
    aliases = environment.aliases().items()
    groups = {name: _over(getattr(from_file, name), getattr(environment, name), folded) for name, folded in aliases}
    from_file = from_file.model_copy(update=groups)
    return Loaded(settings=from_file, environment=environment, file=file, in_file=frozenset(names(table)))


def load() -> Settings:
    """Return the process's settings; cached."""
    return loaded().settings
