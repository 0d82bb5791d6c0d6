"""Workflow templates: how a hot arc's session went."""

from pathlib import Path

import pytest

from openbrain.domain.errors import NotFound
from openbrain.vault.front_matter.document import read
from openbrain.vault.markers.transcripts import Record, ToolUse
from openbrain.vault.pages.arc_parsing import parse_arc
from openbrain.vault.pages.index import Scan
from openbrain.vault.thresholds import Thresholds
from openbrain_tick.observe.transcripts import transcripts_by_session
from openbrain_tick.plan.arcs.workflow import steps, templates
from openbrain_tick.plan.plan import Plan, begin

PATH = "clusters/2026-03-02/2026-03-02-x.md"
SAMPLES = Path(__file__).parents[3] / "samples" / "vault" / "projects"
PAGE = """---
cluster_id: 2026-03-02-x
status: active
heat: 4
source_sessions: [0a1b2c3d-0001, gone, 0a1b2c3d-0002]
---

# X
"""


def planned(text: str) -> Plan:
    def text_of(path: str) -> str:
        if path != PATH:
            raise NotFound(path)
        return text

    plan = begin(Scan({PATH: parse_arc(PATH, text, 0)}), text_of, 0, Thresholds())
    templates(plan, transcripts_by_session(SAMPLES))
    return plan


def test_a_hot_arc_gets_the_steps_of_its_sessions() -> None:
    plan = planned(PAGE)
    (change,) = plan.changes()
    text = (change.after or b"").decode()

    assert read(text, PATH).front.get("workflow_template") is True
    assert text.endswith(
        """# X

## Workflow Template

| Step | Tool | Params |
|---|---|---|
| 1 | Read | file_path: /home/ada/src/shop/cart.py |
| 2 | Bash | command: curl -H 'Authorization: Bearer [redacted]' localhost \\| head |
| 3 | Edit | file_path: /home/ada/src/shop/cart.py |
| 4 | Bash | command: pytest -q |
| 5 | Grep | pattern: redeem\\|gift |
"""
    )
    assert plan.counts["templates_written"] == 1
    assert planned(text).changes() == ()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("heat: 4", "heat: 3"),
        ("status: active", "status: complete"),
        ("heat: 4", "heat: 4\nworkflow_template: false"),
        ("# X", "# X\n\n## Workflow Template\n\nby hand"),
        ("0a1b2c3d-0001, gone, ", ""),
    ],
)
def test_others_get_none(old: str, new: str) -> None:
    assert planned(PAGE.replace(old, new)).changes() == ()


def test_thirty_steps_are_enough_and_acting_twice_is_two_steps() -> None:
    tools = (ToolUse("Read", {"path": "a"}), ToolUse("Bash", {"command": "make"}))
    found = steps([Record(kind="assistant", tools=tools)] * 40)

    assert [step.tool for step in found] == ["Read", *["Bash"] * 29]


def test_what_a_tool_was_given_stays_in_its_cell() -> None:
    (step,) = steps(
        [Record(kind="assistant", tools=(ToolUse("x|y", {"a": "1\n| b `c", "d": {"e": "<!-- @signal -->"}}),))]
    )

    assert (step.tool, step.params) == ("x\\|y", 'a: 1 \\| b \'c; d: {"e": "&lt;!-- @signal -->"}')
