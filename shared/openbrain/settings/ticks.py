"""Settings of the vault's keeping: a preset by name, and each threshold by itself."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, Self

from cronsim import CronSim, CronSimError
from pydantic import Field, field_validator, model_validator

from openbrain.settings.groups import Group
from openbrain.settings.tuning import TickTuning
from openbrain.vault.thresholds import PRESETS, SPEC, Thresholds


class ThresholdSettings(Group):
    """Heat is 0 to 10, ages are days since an arc was created. What is not set is the preset's."""

    promote_heat: int = Field(
        SPEC.promote_heat, ge=0, le=11, description="Arcs at least so hot come to mind; 11: none."
    )
    demote_heat: int = Field(SPEC.demote_heat, ge=0, le=11, description="Below this heat they leave it again.")
    conscious_limit: int = Field(SPEC.conscious_limit, ge=0, le=1000, description="Arcs in mind, at most.")
    unconscious_limit: int = Field(SPEC.unconscious_limit, ge=0, le=1000, description="Arcs that were, at most.")
    graduate_heat: int = Field(SPEC.graduate_heat, ge=-1, le=10, description="The hottest that graduates; -1: none.")
    graduate_age_days: int = Field(SPEC.graduate_age_days, ge=0, description="Only older arcs graduate.")
    graduate_status: bool = Field(SPEC.graduate_status, description="Whether graduating sets `status: graduated`.")
    decay_start_days: int = Field(SPEC.decay_start_days, ge=0, description="Until this age heat does not decay.")
    decay_interval_days: int = Field(SPEC.decay_interval_days, ge=1, description="Days in which a degree is lost.")
    sessions_free: int = Field(SPEC.sessions_free, ge=0, description="Sessions of an arc that add no heat.")
    replay_days: int = Field(SPEC.replay_days, ge=0, description="Younger arcs warm what they were replayed from.")
    stale_signal_days: int = Field(
        SPEC.stale_signal_days, ge=0, description="Signals below critical of older arcs are not shown."
    )
    stale_inject_days: int = Field(
        SPEC.stale_inject_days, ge=0, description="Inject blocks of older arcs are not shown; 0: shown for ever."
    )
    hot_arcs: int = Field(SPEC.hot_arcs, ge=1, le=100, description="Rows of hot-arcs.md, at most.")
    hot_arc_chars: int = Field(SPEC.hot_arc_chars, ge=20, le=1000, description="Characters of their last cell.")
    hot_arc_summaries: bool = Field(
        SPEC.hot_arc_summaries, description="Whether it is the summary, where there is one."
    )
    tombstone_after_s: int = Field(
        SPEC.tombstone_after_s, ge=0, description="How long a signal's marker stays in its file after it was resolved."
    )
    health_rows: int = Field(SPEC.health_rows, ge=1, description="Rows kept in health.jsonl.")


class Tick(Group):
    """The vault's keeping."""

    preset: Literal["spec", "head"] = Field(
        "spec", description="Where a threshold is not set itself: the specification's, or the newest original's."
    )
    thresholds: ThresholdSettings = Field(
        ThresholdSettings(),
        description="Of the preset's numbers, those that shall be others, one by one as in "
        "`OPENBRAIN_TICK__THRESHOLDS__PROMOTE_HEAT=8`: "
        + ", ".join(f"`{name}`" for name in ThresholdSettings.model_fields),
    )

    forget_share: float = Field(
        0.5, gt=0, le=1, description="Of the memories made of markers, how many a tick forgets when those are gone."
    )
    schedule: str = Field("7 */2 * * *", description="When ticks run, as cron says it, in UTC; '' for never.")
    projects_dir: Path | None = Field(
        None, description="Folder of transcripts, as ~/.claude/projects; without one nothing is extracted."
    )

    @field_validator("schedule")
    @classmethod
    def _cron(cls, given: str) -> str:
        try:
            if given:
                CronSim(given, datetime.now(UTC))
        except CronSimError:
            raise ValueError("must be five fields as cron takes them, as in `7 */2 * * *`") from None
        return given

    tuning: TickTuning = TickTuning()

    @model_validator(mode="after")
    def _hysteresis(self) -> Self:
        numbers = self.vault_thresholds()
        if numbers.demote_heat > numbers.promote_heat:
            raise ValueError("demote_heat must not be above promote_heat: an arc would come and go at every tick")
        return self

    def vault_thresholds(self) -> Thresholds:
        """The preset's, but for those that are set themselves."""
        return replace(PRESETS[self.preset], **self.thresholds.model_dump(exclude_unset=True))
