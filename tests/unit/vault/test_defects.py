"""Defects of the original keeper, each by its number in the list of defects; ours must not have them."""

import socket
import subprocess
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from openbrain.domain.signals.values import Severity, Signal, SignalState
from openbrain.vault.pages.alarm import alarm
from openbrain.vault.pages.arcs import identity
from openbrain.vault.pages.index import Index
from openbrain.vault.thresholds import SPEC
from openbrain_tick.plan.feed.health import record
from tests.support.vault.pages import DAY, HOUR, NOW, Vault, heats, page, signal

TODAY = "clusters/2026-11-22"
HOT: dict[str, Any] = {"status": "active", "tools": 2000}


@pytest.fixture
def vault(tmp_path: Path) -> Vault:
    return Vault(tmp_path / "vault")


def raised(severity: str, at: int) -> Signal:
    return Signal(
        id=severity,
        workspace_id="default",
        identity=severity,
        source="disk",
        title=severity,
        content="",
        content_hash="",
        severity=Severity(severity),
        broadcast_severity=Severity(severity),
        state=SignalState.ACTIVE,
        first_raised_at=at,
        last_raised_at=at,
        text_at=at,
        quiet_since=at,
    )


@pytest.mark.parametrize("apply", [False, True])
def test_defect_01_nothing_of_a_vault_is_executed(
    vault: Vault, monkeypatch: pytest.MonkeyPatch, *, apply: bool
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("something was executed, or asked of the network")

    flag = vault.root / "executed"
    vault.write(f"{TODAY}/2026-11-22-a.md", page("2026-11-22-a", signal("Down", verify=f"touch {flag}")))
    vault.write(
        "left/b.md", signal("Slow", verify=f"$(touch {flag})") + "<!-- @signal verify=`id` -->\nx\n<!-- @/signal -->"
    )
    for name in ("Popen", "run"):
        monkeypatch.setattr(subprocess, name, refuse)
    for owner, name in ((socket.socket, "connect"), (socket, "getaddrinfo")):
        monkeypatch.setattr(owner, name, refuse)
    monkeypatch.setattr("os.system", refuse)
    plan, kept = (vault.tick if apply else vault.plan)()
    assert not flag.exists()
    assert len(kept.signals) == 3, "a signal that can't be verified remains"
    assert sum("verify names no probe" in problem.reason for problem in plan.problems) == 3


def test_defect_02_a_weaker_alarm_never_hides_a_stronger(vault: Vault) -> None:
    vault.tick(alarm=alarm([raised("nuclear", NOW)], []))
    vault.tick(alarm=alarm([raised("nuclear", NOW), raised("warning", NOW + HOUR)], []))
    assert "severity: nuclear\n" in vault.read("brain-feed/amygdala-active.md")


def test_defect_03_front_matter_is_read_as_yaml_and_a_bad_mark_is_told(vault: Vault) -> None:
    path = f"{TODAY}/2026-11-22-a.md"
    vault.write(
        path,
        '---\ncluster_id: 2026-11-22-a\ntitle: "a --- b"\nheat: 9  # as it was\nstatus: active\nsource_sessions: []\n'
        'edges: [{"sibling": "2026-11-22-b"}, {"related": "c"}]\n---\n\n'
        "<!-- @signal max-age=3 -->\nDown\n<!-- @/signal -->\n",
    )
    plan, _ = vault.tick()
    arc = plan.pages[path]
    assert (arc.title, arc.status, arc.links) == ("a --- b", "active", ("2026-11-22-b", "c"))
    assert "heat: 5  # as it was\n" in vault.read(path), "no sessions count as none, not as one"
    assert [(problem.path, problem.line) for problem in plan.problems] == [(path, 10)]


def test_defect_04_a_signal_ends_by_identity_and_not_by_the_start_of_its_name(vault: Vault) -> None:
    path = f"{TODAY}/2026-11-22-a.md"
    vault.write(path, page("2026-11-22-a", signal("Down\nfor long", source="auth") + signal("Down\nfor long")))
    _, kept = vault.tick(ended={identity("auth", "Down\nfor long"): "mended"})
    assert [each.mark.source for each in kept.signals] == ["auth-broker"]
    # A signal of several lines is over if any of its lines says so.
    assert vault.body("signals.md") == "## Signals\n\n- **[critical]** (auth-broker) Down"
    vault.write(path, page("2026-11-22-a", signal("Was down\n(CLEARED: mended)", "resolved")))
    assert vault.tick()[1].signals == []


def test_defect_05_an_arc_is_one_file(vault: Vault) -> None:
    path = f"{TODAY}/2026-11-22-hot.md"
    vault.write(path, page("2026-11-22-hot", **HOT))
    vault.write(f"{TODAY}/2026-11-22-gone.merged.md", page("2026-11-22-gone", **HOT))
    vault.tick()
    plan, _ = vault.tick(NOW + HOUR)
    assert heats(plan) == {"2026-11-22-hot": 9}, "neither copies nor merged arcs are ranked"
    assert "2026-11-22-hot" in vault.read(f"{TODAY}/_dashboard.md")
    assert "heat:" not in vault.read("frontal-lobe/conscious/2026-11-22-hot.md")
    assert "gone" not in vault.body("hot-arcs.md")


def test_defect_05_copies_of_the_original_become_references_where_they_say_nothing_else(vault: Vault) -> None:
    vault.write(f"{TODAY}/2026-11-22-same.md", page("2026-11-22-same", **HOT))
    vault.write(
        "frontal-lobe/conscious/2026-11-22-same.md", page("2026-11-22-same", **HOT).replace("heat: 0", "heat: 9")
    )
    vault.write(f"{TODAY}/2026-11-22-other.md", page("2026-11-22-other", **HOT))
    vault.write("frontal-lobe/conscious/2026-11-22-other.md", page("2026-11-22-other", "my own words", **HOT))
    plan, _ = vault.tick()
    assert "reference:" in vault.read("frontal-lobe/conscious/2026-11-22-same.md")
    assert "my own words" in vault.read("frontal-lobe/conscious/2026-11-22-other.md")
    assert [problem.path for problem in plan.problems] == ["frontal-lobe/conscious/2026-11-22-other.md"]


def test_defect_05_what_only_a_copy_holds_stays_a_page(vault: Vault) -> None:
    path = "frontal-lobe/conscious/2026-11-22-lone.md"
    vault.write(path, page("2026-11-22-lone", "all there is", **HOT))
    plan, _ = vault.tick()
    assert "all there is" in vault.read(path)
    assert heats(plan) == {"2026-11-22-lone": 9}


@pytest.mark.parametrize("stamped", [False, True])
def test_defect_06_one_pass_settles_what_graduates(vault: Vault, *, stamped: bool) -> None:
    thresholds = replace(SPEC, graduate_status=stamped)
    vault.write("clusters/2026-11-01/2026-11-01-a.md", page("2026-11-01-a", created="2026-11-01", **HOT))
    # 2 + 2 - 3 at eight days: already cold enough, and colder without the status.
    warm = page("2026-11-14-b", created="2026-11-14", status="active", tools=1000)
    vault.write("clusters/2026-11-14/2026-11-14-b.md", warm)
    vault.tick(thresholds=thresholds)
    once = vault.tree()
    assert ("status: graduated" in vault.read("left/2026-11-01-a.md")) is stamped
    assert f"heat: {0 if stamped else 1}\n" in vault.read("left/2026-11-14-b.md")
    plan, _ = vault.tick(thresholds=thresholds)
    assert plan.changes() == ()
    assert vault.tree() == once


def test_defect_06_heat_is_written_into_front_matter_only(vault: Vault) -> None:
    path = f"{TODAY}/2026-11-22-a.md"
    vault.write(path, "---\ncluster_id: 2026-11-22-a\ncreated: 2026-11-22\n---\n\nheat: of the day\n")
    vault.tick()
    assert vault.read(path) == (
        "---\ncluster_id: 2026-11-22-a\ncreated: 2026-11-22\nheat: 3\n---\n\nheat: of the day\n"
    )
    assert vault.plan()[0].changes() == ()


def test_defect_07_a_tick_reads_only_what_changed(tmp_path: Path) -> None:
    vault = Vault(tmp_path / "vault", Index(clock_ns=lambda: time.time_ns() + 3_600_000_000_000))
    for number in range(30):
        vault.write(f"{TODAY}/2026-11-22-{number}.md", page(f"2026-11-22-{number}", **HOT))
    assert vault.tick()[0].scan.read == 30
    vault.tick()
    vault.write(f"{TODAY}/2026-11-22-7.md", page("2026-11-22-7", "more"))
    assert vault.tick()[0].scan.read == 1


def test_defect_08_files_are_written_whole_or_not_at_all(vault: Vault) -> None:
    """The journal ensures it, and has its own tests; a plan only says what each file was and will be."""
    vault.write(f"{TODAY}/2026-11-22-a.md", page("2026-11-22-a"))
    before = vault.tree()
    plan, _ = vault.plan()
    assert plan.changes()
    assert vault.tree() == before


def test_defect_09_a_posted_signal_is_in_the_feed_and_a_list_of_lessons_is_no_arc(vault: Vault) -> None:
    vault.write("amygdala/20261122-critical-down.md", signal("Down"))
    vault.write("left/reference/lessons-2026-11-01.md", "<!-- @lesson -->\nLook first.\n<!-- @/lesson -->\n")
    vault.write(f"{TODAY}/2026-11-22-a.md", page("2026-11-22-a"))
    plan, kept = vault.tick()
    assert "(auth-broker) Down" in vault.body("signals.md")
    assert "lessons" not in vault.body("hot-arcs.md")
    vault.tick(NOW + 30 * DAY)
    assert (vault.root / "left/reference/lessons-2026-11-01.md").exists()
    record(plan, kept.health)
    row = plan.text("brain-feed/health.jsonl") or ""
    assert '"arcs":1,"signals":1,"lessons":1' in row


def test_defect_10_of_equally_hot_arcs_the_newest_are_shown(vault: Vault) -> None:
    for day in range(1, 21):
        vault.write(f"clusters/2026-11-{day:02}/2026-11-{day:02}-a.md", page("", created=f"2026-11-{day:02}", joy=1))
    vault.tick(thresholds=replace(SPEC, graduate_heat=-1, decay_start_days=100))
    rows = vault.body("hot-arcs.md").splitlines()[4:]
    assert [row[12:14] for row in rows] == [f"{day:02}" for day in range(20, 10, -1)]


def test_defect_10_bodies_fit_and_hold_no_clock_and_nuclear_is_told_apart(vault: Vault) -> None:
    long = "2026-11-01-" + "a-very-long-slug-of-an-arc-"
    for number in range(40):
        body = (
            signal(f"Down {number}: " + "word " * 60) + f"<!-- @inject -->\n{number} {'word ' * 80}\n<!-- @/inject -->"
        )
        vault.write(
            f"clusters/2026-11-01/{long}{number}.md",
            page(f"{long}{number}", body, created="2026-11-01", status="active", sessions=9),
        )
    told = alarm([raised("nuclear", NOW)], [])
    vault.tick(alarm=told)
    feed = {name: text for name, text in vault.tree().items() if name.startswith("brain-feed/")}
    assert all(len(vault.body(name.split("/")[1])) <= 1536 for name in feed)
    assert "severity: nuclear\n" in vault.read("brain-feed/amygdala-active.md")
    vault.tick(NOW + DAY, alarm=told)
    assert {name: text for name, text in vault.tree().items() if name.startswith("brain-feed/")} == feed


def test_defect_11_time_is_what_the_tick_is_told(vault: Vault) -> None:
    """Years from now or years ago, a tick's result depends only on the time it is given."""
    vault.write(f"{TODAY}/2026-11-22-a.md", page("2026-11-22-a", **HOT))
    for at, heat in ((NOW, 9), (NOW + 3650 * DAY, 0), (NOW - 3650 * DAY, 9)):
        assert heats(vault.plan(at)[0]) == {"2026-11-22-a": heat}
