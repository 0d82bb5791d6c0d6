"""All settings. Only this package reads the environment and the settings file.

A setting's name is `OPENBRAIN_` plus group and name, as in OPENBRAIN_STREAMS__URL; the original names are accepted too.
A file `openbrain.toml` sets the same in tables (`settings.file`); the environment wins over it.
The class `Settings` lists the groups; the imports show where each is: `systems` has streams, truth, text, vectors and
embedding; `memories` recall, housekeeping and secrets; `ticks` tick, vaults and reasoner; `server` server and logs.
Numbers that operators need not change are in `tuning`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from pydantic import AliasChoices, Field, field_validator
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict, SettingsError

from openbrain.domain.limits import WAIT_SECONDS
from openbrain.settings.events import Events
from openbrain.settings.file import names, read_settings, settings_file
from openbrain.settings.groups import Group
from openbrain.settings.memories import Housekeeping, Recall, Secrets
from openbrain.settings.mistakes import not_json, refuse_unknown
from openbrain.settings.server import Logs, Server
from openbrain.settings.signals import Signals
from openbrain.settings.systems import Embedding, Streams, Text, Truth, Vectors
from openbrain.settings.ticks import NO_REASONER, Reasoner, Tick, Vaults
from openbrain.settings.webhooks import Webhooks

__all__ = [
    "NO_REASONER",
    "Embedding",
    "Events",
    "Housekeeping",
    "Loaded",
    "Logs",
    "Reasoner",
    "Recall",
    "Secrets",
    "Server",
    "Settings",
    "Signals",
    "Streams",
    "Text",
    "Tick",
    "Truth",
    "Vaults",
    "Vectors",
    "Webhooks",
    "load",
    "loaded",
]


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
