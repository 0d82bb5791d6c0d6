"""Settings of ticks, of the vaults that they maintain, and of the model that they ask."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, Self

from cronsim import CronSim, CronSimError
from pydantic import Field, field_validator, model_validator

from openbrain.settings.groups import Group, Seconds
from openbrain.settings.tuning import TickTuning, VaultTuning
from openbrain.vault.thresholds import PRESETS, SPEC, Thresholds

NO_REASONER = "none"


class ThresholdSettings(Group):
    """Thresholds of ticks. Heat is 0 to 10, ages are days since an arc was created. Unset ones have the preset's
    value."""

    promote_heat: int = Field(
        SPEC.promote_heat, ge=0, le=11, description="Arcs of at least this heat become conscious; 11: none."
    )
    demote_heat: int = Field(
        SPEC.demote_heat, ge=0, le=11, description="Below this heat conscious arcs become unconscious."
    )
    conscious_limit: int = Field(SPEC.conscious_limit, ge=0, le=1000, description="Conscious arcs, at most.")
    unconscious_limit: int = Field(SPEC.unconscious_limit, ge=0, le=1000, description="Unconscious arcs, at most.")
    graduate_heat: int = Field(
        SPEC.graduate_heat, ge=-1, le=10, description="Highest heat at which an arc graduates; -1: none graduate."
    )
    graduate_age_days: int = Field(SPEC.graduate_age_days, ge=0, description="Only older arcs graduate.")
    graduate_status: bool = Field(SPEC.graduate_status, description="Whether graduating sets `status: graduated`.")
    decay_start_days: int = Field(SPEC.decay_start_days, ge=0, description="Until this age heat does not decay.")
    decay_interval_days: int = Field(
        SPEC.decay_interval_days, ge=1, description="Days in which one degree of heat is lost."
    )
    sessions_free: int = Field(SPEC.sessions_free, ge=0, description="Sessions of an arc that add no heat.")
    replay_days: int = Field(
        SPEC.replay_days, ge=0, description="Arcs younger than this warm the arc that they were replayed from."
    )
    stale_signal_days: int = Field(
        SPEC.stale_signal_days, ge=0, description="Signals below critical of arcs older than this are not shown."
    )
    stale_inject_days: int = Field(
        SPEC.stale_inject_days,
        ge=0,
        description="Inject blocks of arcs older than this are not shown; 0: always shown.",
    )
    hot_arcs: int = Field(SPEC.hot_arcs, ge=1, le=100, description="Rows of hot-arcs.md, at most.")
    hot_arc_chars: int = Field(
        SPEC.hot_arc_chars, ge=20, le=1000, description="Characters of the last cell of each row, at most."
    )
    hot_arc_summaries: bool = Field(
        SPEC.hot_arc_summaries, description="Whether that cell is the arc's summary, if it has one."
    )
    tombstone_after_s: int = Field(
        SPEC.tombstone_after_s, ge=0, description="How long the marker of a resolved signal stays in its file."
    )
    health_rows: int = Field(SPEC.health_rows, ge=1, description="Rows kept in health.jsonl.")


class Tick(Group):
    """Ticks: the maintenance of vaults."""

    preset: Literal["spec", "head"] = Field(
        "spec",
        description="Values of thresholds that are not set: those of the specification, or of the original's "
        "newest version.",
    )
    thresholds: ThresholdSettings = Field(
        ThresholdSettings(),
        description="Single thresholds that differ from the preset, as in "
        "`OPENBRAIN_TICK__THRESHOLDS__PROMOTE_HEAT=8`: "
        + ", ".join(f"`{name}`" for name in ThresholdSettings.model_fields),
    )

    forget_share: float = Field(
        0.5,
        gt=0,
        le=1,
        description="Share of the memories made from markers that one tick may forget because their markers are gone.",
    )
    schedule: str = Field("7 */2 * * *", description="When ticks run: a cron expression, in UTC; '': never.")
    projects_dir: Path | None = Field(
        None, description="Folder of transcripts, such as ~/.claude/projects; if unset, nothing is extracted."
    )

    @field_validator("projects_dir")
    @classmethod
    def _expanded(cls, given: Path | None) -> Path | None:
        return None if given is None else given.expanduser()

    @field_validator("schedule")
    @classmethod
    def _cron(cls, given: str) -> str:
        try:
            if given:
                CronSim(given, datetime.now(UTC))
        except CronSimError:
            raise ValueError("must be a cron expression of five fields, as in `7 */2 * * *`") from None
        return given

    tuning: TickTuning = TickTuning()

    @model_validator(mode="after")
    def _hysteresis(self) -> Self:
        numbers = self.vault_thresholds()
        if numbers.demote_heat > numbers.promote_heat:
            raise ValueError(
                "demote_heat must not be above promote_heat: an arc would be promoted and demoted at every tick"
            )
        return self

    def vault_thresholds(self) -> Thresholds:
        """Return the preset's thresholds, with those that are set."""
        return replace(PRESETS[self.preset], **self.thresholds.model_dump(exclude_unset=True))


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
