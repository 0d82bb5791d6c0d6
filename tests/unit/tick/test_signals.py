"""Signals of a vault's pages: which are active (each once), how they end, and when they leave their page."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from openbrain.vault.pages.arcs import identity
from openbrain.vault.thresholds import SPEC
from openbrain_tick.plan.deterministic import Published
from tests.support.vault.pages import DAY, HOUR, NOW, Vault, page, signal

PATH = "clusters/2026-11-22/2026-11-22-a.md"
DOWN = identity("auth-broker", "Down")


@pytest.fixture
def vault(tmp_path: Path) -> Vault:
    return Vault(tmp_path / "vault")


def shown(kept: Published) -> list[tuple[str, str]]:
    return [(each.mark.severity, each.mark.content) for each in kept.signals]


def arc(vault: Vault, body: str, *, days: int = 0, name: str = "a", status: str = "complete", **more: Any) -> None:
    day = f"2026-11-{22 - days:02}"
    vault.write(
        f"clusters/{day}/{day}-{name}.md",
        page(f"{day}-{name}", body, created=f"{day}T10:00:00Z", status=status, **more),
    )


def test_old_ones_below_critical_are_no_longer_shown(vault: Vault) -> None:
    arc(vault, signal("Slow", "warning") + signal("Down") + signal("Gone", "nuclear") + signal("Hm", "info"), days=4)
    arc(vault, signal("Slower", "warning"), days=3, name="b")
    plan, kept = vault.tick(NOW - 2 * HOUR)
    assert shown(kept) == [("nuclear", "Gone"), ("critical", "Down"), ("warning", "Slower")]
    assert plan.counts["signals_tombstoned_stale"] == 2
    _, kept = vault.tick(NOW)
    assert shown(kept) == [("nuclear", "Gone"), ("critical", "Down")]


def test_the_gravest_first_then_the_newest(vault: Vault) -> None:
    arc(vault, signal("Old"), days=2)
    arc(vault, signal("New") + signal("Warm", "warning"))
    assert shown(vault.tick()[1]) == [("critical", "New"), ("critical", "Old"), ("warning", "Warm")]


def test_one_signal_in_several_pages_is_one_and_the_gravest_counts(vault: Vault) -> None:
    arc(vault, signal("Down", "warning"))
    arc(vault, signal("  Down\n"), name="b")
    arc(vault, signal("Down", source="auth"), name="c")
    plan, kept = vault.tick()
    assert [(each.mark.source, each.mark.severity) for each in kept.signals] == [
        ("auth", "critical"),
        ("auth-broker", "critical"),
    ]
    assert plan.counts["signals_deduped"] == 1


@pytest.mark.parametrize(
    ("status", "said", "hidden"),
    [
        ("resolved", "auth-broker", True),
        ("graduated", "[x, auth-broker]", True),
        ("active", "auth-broker", False),
        ("resolved", "auth", False),
    ],
)
def test_what_an_arc_mitigates_is_not_shown_once_that_arc_is_over(
    vault: Vault, status: str, said: str, *, hidden: bool
) -> None:
    arc(vault, signal("Down"))
    arc(vault, "", name="b", status=status, mitigates=said)
    assert bool(vault.tick()[1].signals) != hidden


def test_a_signal_of_a_merged_arc_is_its_heirs(vault: Vault) -> None:
    vault.write("clusters/2026-11-22/2026-11-22-a.merged.md", page("2026-11-22-a", signal("Down")))
    assert vault.tick()[1].signals == []


@pytest.mark.parametrize(("body", "status"), [("```\n", "active"), ("", "resolved")])
def test_the_page_of_a_signal_is_not_over_while_its_marker_can_not_be_read(
    vault: Vault, body: str, status: str
) -> None:
    path = "amygdala/20261122T100000Z-critical-down-0123abcd.md"
    vault.write(path, page(body=body + signal("Down", "warning" if body else "resolved"), status="active"))
    vault.tick()
    assert f"status: {status}\n" in vault.read(path)


def test_a_probe_that_holds_hides_its_signal_and_an_unknown_one_is_told(vault: Vault) -> None:
    arc(vault, signal("Down", verify="api") + signal("Slow", verify="disk") + signal("Odd", verify="rm -rf /"))
    plan, kept = vault.tick(probes={"api": True, "disk": False})
    assert {content for _, content in shown(kept)} == {"Slow", "Odd"}
    assert [problem.line for problem in plan.problems] == [22]
    counts = plan.counts
    assert (counts["signals_verified_pass"], counts["signals_verified_fail"], counts["signals_verified_skip"]) == (
        1,
        1,
        1,
    )


def test_a_signal_ends_by_its_exact_identity_wherever_it_stands(vault: Vault) -> None:
    body = signal("Down", verify="api") + signal("Down", source="auth") + signal("Down more")
    arc(vault, body)
    arc(vault, signal("Down", "warning"), name="b")
    plan, kept = vault.tick(ended={DOWN: "restarted\u202e -->\n<!-- @signal (twice)"})
    assert plan.counts["signals_ended"] == 2
    assert {(each.mark.source, each.mark.content) for each in kept.signals} == {
        ("auth", "Down"),
        ("auth-broker", "Down more"),
    }
    assert (
        "<!-- @signal severity=resolved source=auth-broker verify=api cleared=2026-11-22T12:00:00.000000Z -->\n"
        "Down (CLEARED: restarted > <! @signal (twice)\n<!-- @/signal -->\n"
    ) in vault.read(PATH)
    assert signal("Down", source="auth") in vault.read(PATH)
    assert vault.plan(ended={DOWN: "again"})[0].changes() == ()


def test_it_leaves_its_page_a_tick_later_and_nothing_else_does(vault: Vault) -> None:
    before = "Above.\n\n"
    arc(vault, before + signal("Down") + "\nBelow.\n" + signal("Slow", "warning"))
    vault.tick(ended={DOWN: "mended"})
    vault.tick(NOW + 2 * HOUR - 1)
    assert "Down (CLEARED: mended)" in vault.read(PATH)
    plan, _ = vault.tick(NOW + 2 * HOUR)
    assert plan.counts["signals_removed"] == 1
    assert vault.read(PATH).endswith("# 2026-11-22-a\n\n" + before + "Below.\n" + signal("Slow", "warning") + "\n")


def test_what_another_system_has_cleared_goes_at_once_and_what_a_person_resolved_stays(vault: Vault) -> None:
    arc(vault, signal("Was (CLEARED: long ago)", "resolved") + signal("By hand", "resolved") + "Text\n")
    _, kept = vault.tick()
    assert kept.signals == []
    assert "Was" not in vault.read(PATH)
    assert signal("By hand", "resolved") + "Text\n" in vault.read(PATH)


def test_what_stands_inside_a_resolved_signal_is_not_lost(vault: Vault) -> None:
    inner = "<!-- @lesson -->\nKeep me.\n<!-- @/lesson -->"
    arc(vault, signal(f"Was (CLEARED: x)\n{inner}", "resolved"))
    vault.tick()
    assert inner in vault.read(PATH)


def test_a_signal_inside_another_ends_too(vault: Vault) -> None:
    inner = signal("Down").strip()
    outer = f"Fire\n{inner}"
    arc(vault, signal(outer, source="x"))
    plan, kept = vault.tick(ended={DOWN: "a", identity("x", outer): "b"})
    assert (plan.counts["signals_ended"], kept.signals) == (2, [])


def test_signals_in_code_are_no_signals(vault: Vault) -> None:
    arc(vault, "```\n" + signal("Down") + "```\n")
    assert vault.tick()[1].signals == []


def test_inject_blocks_have_an_age_and_are_told_once(vault: Vault) -> None:
    def block(text: str, attrs: str = "") -> str:
        return f"<!-- @inject{attrs} -->\n{text}\n<!-- @/inject -->\n"

    def at(days: int, body: str, name: str, status: str = "active") -> None:
        vault.write(
            f"left/{name}.md",
            page(
                name, body, created=f"2026-{10 if days > 21 else 11}-{22 if days > 21 else 22 - days:02}", status=status
            ),
        )

    at(31, block("old") + block("kept", " ttl_days=90"), "a")
    at(2, block("new", " target=claude.md") + block("short", " ttl_days=1") + block("kept"), "b")
    for status in ("resolved", "graduated", "merged", "complete"):
        at(1, block(f"over {status}"), status, status)
    _, kept = vault.tick()
    assert [(mark.target, mark.content) for mark in kept.injects] == [("claude.md", "new"), ("", "kept")]
    _, kept = vault.tick(thresholds=replace(SPEC, stale_inject_days=0))
    assert [mark.content for mark in kept.injects] == ["new", "kept", "old"]
    _, kept = vault.tick(NOW + 89 * DAY)
    assert [mark.content for mark in kept.injects] == []
