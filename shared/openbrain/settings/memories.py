"""Settings of recall, of upkeep, and of the detection of secrets."""

from typing import Literal

from pydantic import Field

from openbrain.domain.memory import HALF_LIFE_DAYS, MemoryType
from openbrain.settings.groups import Group, Seconds
from openbrain.settings.tuning import HousekeepingTuning, RecallTuning


class Recall(Group):
    """Settings of recall."""

    text_weight: float = Field(
        0.65, ge=0, le=1, description="Weight of the keyword score in the fusion; vectors have the rest."
    )
    late_weight: float = Field(
        0.6,
        ge=0,
        le=1,
        description="Weight of late interaction (token states of the memory and the question, compared word by word) "
        "against the fused score, for memories with token states; less for long ones, and if none is near. 0 turns it "
        "off.",
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


class Secrets(Group):
    """Keys, tokens, passwords, private keys and connection strings in what is to be stored."""

    policy: Literal["mask", "refuse", "store"] = Field(
        "mask",
        description="`mask` replaces them by their kind, `refuse` refuses the write and names the field.",
    )
