"""The reference page about signals has the same table as the code."""

from pathlib import Path

from openbrain.domain.signals.values import TRANSITIONS
from openbrain.settings.signals import Signals

PAGE = (Path(__file__).parents[3] / "docs" / "reference" / "signals.md").read_text(encoding="utf-8")


def test_the_table_of_states_is_the_one_of_the_code() -> None:
    rows = [line.strip("| ").split(" | ") for line in PAGE.splitlines() if line.startswith("| ")][1:]

    assert rows == [[before, step, after] for (before, step), after in TRANSITIONS.items()]


def test_the_times_it_names_are_settings() -> None:
    named = {word.strip("`") for word in PAGE.replace("(", " ").replace(",", " ").split() if word.startswith("`")}

    assert {name for name in named if name.endswith(("_s", "_days")) and name != "ttl_s"} <= Signals.model_fields.keys()
