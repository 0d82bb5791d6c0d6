"""Thresholds: one default each, two named sets, and a value that is set individually takes precedence."""

import pytest
from pydantic import ValidationError

from openbrain.settings import Settings
from openbrain.settings.ticks import ThresholdSettings, Tick
from openbrain.vault.thresholds import HEAD, SPEC


def test_the_specification_is_the_default() -> None:
    assert Tick().vault_thresholds() == SPEC
    assert (SPEC.promote_heat, SPEC.demote_heat) == (7, 5)


def test_a_preset_selects_a_whole_set_and_a_setting_of_its_own_wins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENBRAIN_TICK__PRESET", "head")
    assert Settings().tick.vault_thresholds() == HEAD
    monkeypatch.setenv("OPENBRAIN_TICK__THRESHOLDS__PROMOTE_HEAT", "6")
    used = Settings().tick.vault_thresholds()
    assert (used.promote_heat, used.graduate_age_days) == (6, HEAD.graduate_age_days)


def test_an_unknown_preset_is_refused() -> None:
    with pytest.raises(ValidationError, match="preset"):
        Tick.model_validate({"preset": "newest"})


def test_thresholds_that_would_move_an_arc_at_every_tick_are_refused() -> None:
    with pytest.raises(ValidationError, match="promoted and demoted at every tick"):
        Tick(thresholds=ThresholdSettings(promote_heat=4, demote_heat=5))
