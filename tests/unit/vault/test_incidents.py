"""Incident arcs for severe signals."""

from dataclasses import replace
from typing import Any

import pytest

from openbrain.domain.errors import NotFound
from openbrain.domain.signals.values import Severity, Signal, SignalState
from openbrain.vault.front_matter.document import read
from openbrain.vault.pages.arc_parsing import parse_arc
from openbrain.vault.pages.index import Scan
from openbrain.vault.thresholds import Thresholds
from openbrain_tick.plan.arcs.incidents import incidents, unclosed
from openbrain_tick.plan.plan import Plan, begin

NOW = 1_800_000_000_000_000
ID = "0198c1de-0000-7000-8000-000000000001"
PATH = f"amygdala/amygdala-2027-01-15-checkout-is-down-{ID}.md"


def signal(**changes: Any) -> Signal:
    given: dict[str, Any] = {
        "id": ID,
        "workspace_id": "w",
        "identity": "i",
        "source": "checkout",
        "title": "Checkout is down",
        "content": "500 for all\n<!-- @signal severity=nuclear source=x -->token=abcdefgh12<!-- @/signal -->",
        "content_hash": "h",
        "severity": Severity.CRITICAL,
        "broadcast_severity": Severity.CRITICAL,
        "state": SignalState.ACTIVE,
        "project": "shop",
        "first_raised_at": NOW,
        "last_raised_at": NOW,
        "text_at": NOW,
        "quiet_since": NOW,
    }
    return Signal(**(given | changes))


class Vault:
    """Pages in memory."""

    def __init__(self) -> None:
        self.pages: dict[str, str] = {}

    def text(self, path: str) -> str:
        if path not in self.pages:
            raise NotFound(path)
        return self.pages[path]

    def plan(self) -> Plan:
        scan = Scan({path: parse_arc(path, text, 0) for path, text in self.pages.items()})
        return begin(scan, self.text, NOW, Thresholds())

    def meet(self, *burning: Signal, ended: dict[str, Signal | None] | None = None) -> Plan:
        plan = self.plan()
        incidents(plan, burning, ended or {})
        for change in plan.changes():
            self.pages[change.path] = (change.after or b"").decode()
        return plan


def test_defect_09_a_grave_signal_gets_one_arc_that_raises_nothing_again() -> None:
    vault = Vault()
    assert vault.meet(signal()).counts == {"incidents_opened": 1}
    text = vault.pages[PATH]
    arc = parse_arc(PATH, text, 0)

    assert (arc.title, arc.region, arc.status, arc.project) == ("Checkout is down", "amygdala", "active", "shop")
    assert (arc.ranked, arc.signals, arc.problems, arc.created_us) == (True, (), (), NOW)
    assert read(text, PATH).front.text("severity") == "critical"
    assert "abcdefgh12" not in text
    assert text.endswith("raised by checkout as critical\n\n## Resolution\n\n(pending)\n")
    assert vault.meet(signal(count=7, broadcast_severity=Severity.WARNING)).changes() == ()
    assert unclosed(vault.plan().pages.values()) == {ID}


def test_it_is_closed_when_the_signal_is_and_what_was_written_stays() -> None:
    vault = Vault()
    vault.meet(signal())
    vault.pages[PATH] = vault.pages[PATH].replace("## Timeline", "## By hand\n\nIt was the voucher.\n\n## Timeline")
    over = replace(
        signal(), state=SignalState.RESOLVED, ended_at=NOW + 60_000_000, ended_by="ada", note="vouchers are off"
    )

    assert vault.meet(ended={ID: over}).counts == {"incidents_closed": 1}
    assert "status: resolved\n" in vault.pages[PATH]
    assert vault.pages[PATH].endswith("\n\n2027-01-15T08:01:00.000000Z resolved by ada: vouchers are off\n")
    assert "It was the voucher." in vault.pages[PATH]
    assert vault.meet(ended={ID: over}).changes() == ()
    assert vault.meet(signal()).changes() == ()


def test_its_end_is_written_under_resolution_and_not_into_the_quoted_text() -> None:
    vault = Vault()
    vault.meet(signal(content="Deployment (pending) for an hour."))

    assert vault.meet(ended={ID: None}).counts == {"incidents_closed": 1}
    assert "> Deployment (pending) for an hour.\n" in vault.pages[PATH]
    assert vault.pages[PATH].endswith("## Resolution\n\n2027-01-15T08:00:00.000000Z no longer known\n")


def test_a_signal_whose_row_is_gone_is_over() -> None:
    vault = Vault()
    vault.meet(signal())

    assert vault.meet(ended={ID: None}).counts == {"incidents_closed": 1}
    assert vault.pages[PATH].endswith("no longer known\n")


@pytest.mark.parametrize(
    "other", [signal(severity=Severity.WARNING), signal(source="openbrain.pipeline")], ids=["weaker", "of ourselves"]
)
def test_others_get_none(other: Signal) -> None:
    assert Vault().meet(other).changes() == ()


def test_a_signal_that_a_page_raised_has_its_page() -> None:
    vault = Vault()
    vault.pages["left/x.md"] = "<!-- @signal severity=critical source=checkout -->\nIt burns.\n<!-- @/signal -->\n"

    assert vault.meet(signal(content="It burns.")).changes() == ()
