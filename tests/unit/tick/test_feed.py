"""Feed files: their exact form and size limits; they change only if their content does."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from openbrain.domain.signals.values import Halt, HaltScope, Severity, Signal, SignalState
from openbrain.vault.front_matter.document import read
from openbrain.vault.pages.alarm import alarm
from openbrain.vault.thresholds import HEAD, SPEC, Thresholds
from openbrain_tick.plan.feed.health import record
from tests.support.forms import examples
from tests.support.vault.pages import DAY, NOW, Vault, page, signal

FILES = {
    "hot-arcs.md": ("hot-arcs-2026-11-22", "Active Hot Arcs", 10, 3600, "info"),
    "inject.md": ("inject", "Brain Inject", 9, 3600, "info"),
    "signals.md": ("signals", "Active Signals", 8, 3600, "warning"),
    "amygdala-active.md": ("amygdala-active", "AMYGDALA ALERT", 100, 300, "nuclear"),
}


@pytest.fixture
def vault(tmp_path: Path) -> Vault:
    return Vault(tmp_path / "vault")


def raised(severity: str = "nuclear", at: int = NOW, title: str = "The store burns", **more: Any) -> Signal:
    level = Severity(severity)
    known: dict[str, Any] = {"content": "All of it.", "source": "disk", "state": SignalState.ACTIVE} | more
    return Signal(
        id=title,
        workspace_id="default",
        identity=title,
        title=title,
        content_hash="",
        severity=level,
        broadcast_severity=level,
        first_raised_at=at,
        last_raised_at=at,
        text_at=at,
        quiet_since=at,
        **known,
    )


def halted(at: int = NOW) -> Halt:
    return Halt(id="h", workspace_id="default", signal_id="s", scope=HaltScope.WORKSPACE, title="Stop", raised_at=at)


def arc(vault: Vault, name: str, body: str = "", day: str = "2026-11-22", **front: Any) -> None:
    vault.write(f"clusters/{day}/{name}.md", page(name, body, created=f"{day}T10:00:00Z", **front))


def test_every_file_has_the_front_matter_that_the_client_reads(vault: Vault) -> None:
    arc(vault, "2026-11-22-a", signal("Down"))
    vault.tick(alarm=alarm([raised()], []))
    for name, told in FILES.items():
        front = read(vault.read(f"brain-feed/{name}"), name).front
        assert list(front) == ["id", "title", "priority", "ttl", "severity"]
        assert tuple(front.get(key) for key in front) == told


def test_the_bodies_by_hand(vault: Vault) -> None:
    inject = "<!-- @inject target=claude.md -->\nMind\nit.\n<!-- @/inject -->\n"
    inject += "<!-- @inject -->\nAll of you.\n<!-- @/inject -->\n"
    arc(vault, "2026-11-22-a", signal("Down\nsince noon") + inject, status="active")
    arc(vault, "2026-11-21-b", day="2026-11-21")
    vault.tick()
    assert vault.read("brain-feed/hot-arcs.md") == (
        "---\nid: hot-arcs-2026-11-22\ntitle: Active Hot Arcs\npriority: 10\nttl: 3600\nseverity: info\n---\n\n"
        "## Hot Arcs\n\n| Arc | Heat | Region | Status | Title |\n|---|---|---|---|---|\n"
        "| [[2026-11-22-a]] | 5 | left-hemisphere | active | The arc 2026-11-22-a |\n"
        "| [[2026-11-21-b]] | 1 | left-hemisphere | complete | The arc 2026-11-21-b |\n"
    )
    assert vault.body("signals.md") == "## Signals\n\n- **[critical]** (auth-broker) Down"
    assert vault.body("inject.md") == "**[claude.md]** Mind\nit.\n\n**[all]** All of you."


def test_a_cold_arc_is_not_among_the_hot(vault: Vault) -> None:
    arc(vault, "2026-11-22-a")
    arc(vault, "2026-11-15-b", day="2026-11-15")
    vault.tick()
    assert vault.body("hot-arcs.md").count("[[") == 1
    vault.tick(NOW + 5 * DAY)
    assert vault.body("hot-arcs.md").endswith("|---|---|---|---|---|")


def test_titles_of_dashboards_and_references_end_with_a_word(vault: Vault) -> None:
    title = "Mend the basket of the shop " * 8
    arc(vault, "2026-11-22-a", status="active", tools=2000)
    text = vault.read("clusters/2026-11-22/2026-11-22-a.md").replace("title: The arc 2026-11-22-a", f"title: {title}")
    vault.write("clusters/2026-11-22/2026-11-22-a.md", text)
    vault.tick()
    assert vault.read("clusters/2026-11-22/_dashboard.md").endswith(" Mend the basket of the… |\n")
    assert vault.read("frontal-lobe/conscious/2026-11-22-a.md").endswith(" the shop Mend…]]\n")


def test_posted_lessons_count_for_how_well_the_vault_is_kept(vault: Vault) -> None:
    def posted(session: str) -> str:
        return f"<!-- @lesson source=shop session={session} -->\nOf {session}.\n<!-- @/lesson -->\n"

    for number in range(4):
        text = page(f"2026-11-22-{number}", created="2026-11-22T10:00:00Z").replace("session-0", f"s-{number}")
        vault.write(f"clusters/2026-11-22/2026-11-22-{number}.md", text)
    assert vault.tick()[1].health.coverage == 0
    vault.write("left/reference/lessons-2026-11-22.md", posted("s-1") + posted("s-1").replace("Of", "Also of"))
    assert vault.tick()[1].health.coverage == 0.25
    vault.write("left/reference/lessons-2026-11-22.md", posted("s-1") + posted("unknown") * 2)
    before = vault.tick()[1].health
    assert (before.coverage, before.lessons) == (0.75, 3)
    vault.write("left/reference/lessons-2026-11-22.md", posted("unknown") * 9)
    assert vault.tick()[1].health.coverage == 1


def test_the_newest_set_shows_what_an_arc_is(vault: Vault) -> None:
    arc(vault, "2026-11-22-a", summary="It | works.")
    vault.tick(thresholds=HEAD)
    assert vault.body("hot-arcs.md").splitlines()[2::2] == [
        "| Arc ID | Heat | Region | Status | What it is |",
        "| 2026-11-22-a | 4 | left-hemisphere | complete | It - works. |",
    ]


def test_where_there_is_nothing_the_client_is_told_so_in_its_own_words(vault: Vault) -> None:
    vault.tick()
    assert (vault.body("signals.md"), vault.body("inject.md")) == ("No active signals.", "No inject blocks.")
    assert not (vault.root / "brain-feed/amygdala-active.md").exists()


def test_a_credential_in_a_page_is_not_told_to_every_agent(vault: Vault) -> None:
    key = "ghp_" + "a1B2" * 9
    inject = f"<!-- @inject -->\nUse {key}.\n<!-- @/inject -->\n"
    arc(vault, "2026-11-22-a", signal(f"{key} leaks") + inject, status="active", summary=f"It uses {key}")
    vault.tick(thresholds=HEAD)
    told = {name: vault.body(name) for name in ("hot-arcs.md", "inject.md", "signals.md")}
    for body in told.values():
        assert "[redacted]" in body
        assert key not in body


def test_a_new_day_alone_changes_no_file(vault: Vault) -> None:
    arc(vault, "2026-11-01-a", signal("Down"), day="2026-11-01", status="stalled", cluster_id="x")
    arc(vault, "2026-11-02-b", day="2026-11-02", sessions=9, tools=9000)
    vault.tick(alarm=alarm([raised()], []))
    before = {name: text for name, text in vault.tree().items() if name.startswith("brain-feed/")}
    vault.tick(NOW + DAY // 2 + 1, alarm=alarm([raised()], []))
    assert {name: text for name, text in vault.tree().items() if name.startswith("brain-feed/")} == before


def test_what_a_file_says_is_renewed_with_its_day(vault: Vault) -> None:
    arc(vault, "2026-11-22-a")
    vault.tick()
    arc(vault, "2026-11-23-b", day="2026-11-23")
    vault.tick(NOW + DAY)
    assert "id: hot-arcs-2026-11-23\n" in vault.read("brain-feed/hot-arcs.md")
    vault.write("brain-feed/signals.md", vault.read("brain-feed/signals.md").replace("priority: 8", "priority: 80"))
    vault.tick(NOW + DAY)
    assert "priority: 8\n" in vault.read("brain-feed/signals.md")


WORDS = st.text(st.sampled_from("ab |[]`—\U0001f525<>!-@\t"), max_size=400)


@settings(max_examples=examples(25), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(st.tuples(WORDS, st.sampled_from(["nuclear", "warning"]), st.integers(0, 60)), max_size=25),
    st.sampled_from([SPEC, HEAD]),
)
def test_no_body_is_longer_than_the_client_takes(pages: list[tuple[str, str, int]], thresholds: Thresholds) -> None:
    with TemporaryDirectory() as folder:
        vault = Vault(Path(folder) / "vault")
        for number, (words, severity, length) in enumerate(pages):
            name = f"2026-11-22-{'long-' * (length // 5)}{number}"
            inject = f"<!-- @inject -->\n{words}\n<!-- @/inject -->\n"
            arc(
                vault,
                name,
                signal(words, severity, source="s" * (1 + length)) + inject,
                status="active",
                summary=orjson.dumps(words).decode(),
            )
        open_ = [raised(severity, title=words or "x", content=words * 3) for words, severity, _ in pages]
        vault.tick(thresholds=thresholds, alarm=alarm(open_, [halted()] if len(pages) % 2 else []))
        for path in (vault.root / "brain-feed").glob("*.md"):
            body = vault.body(path.name)
            assert 0 < len(body) <= 1536
            assert read(path.read_text(), path.name).problems == ()
        rows = vault.body("hot-arcs.md").splitlines()[4:]
        assert len(rows) == min(10, len(pages))
        assert all(row.count("|") == 6 for row in rows)


def test_the_alarm_tells_the_gravest_and_the_rest() -> None:
    told = alarm(
        [raised(org="acme", project="web"), raised("critical", NOW + 5, title="Slow"), raised("info", NOW + 9)], []
    )
    assert told is not None
    assert (told.severity, told.raised_at) == ("nuclear", NOW + 5)
    assert told.body == (
        "## NUCLEAR: The store burns\n\nAll of it.\n\n- Source: disk\n- Since: 2026-11-22T12:00:00Z\n"
        "- Affected: acme/web\n\n"
        "Halt all operations that are not needed to end this alarm, and wait until it is resumed.\n\n"
        "- **[critical]** (disk) Slow"
    )


HIDDEN = "\U000e0041\u3164\u2800\ufe0f\u034f\u202e\u200d"


def test_no_file_hides_anything_from_people_that_a_model_reads(vault: Vault) -> None:
    inject = f"<!-- @inject -->\nAll{HIDDEN} of you.\n<!-- @/inject -->\n"
    arc(vault, "2026-11-22-a", signal(f"Do{HIDDEN}wn", source=f"dis{HIDDEN}k") + inject, title=f"Sto{HIDDEN}re")
    loud = raised(title=f"Bu{HIDDEN}rns", content=HIDDEN * 100, source=f"nas{HIDDEN}", org=f"ac{HIDDEN}me")
    vault.tick(alarm=alarm([loud, raised(title=f"Al{HIDDEN}so")], [halted()]))

    for name in FILES:
        assert not set(vault.read(f"brain-feed/{name}")) & set(HIDDEN), name
    assert "\\U000e0041" in vault.body("inject.md")
    assert "Halt all operations" in vault.body("amygdala-active.md")
    assert "- Since: " in vault.body("amygdala-active.md")


def test_a_halt_whose_signal_has_ended_still_is_the_alarm() -> None:
    told = alarm([], [halted()])
    assert told is not None
    assert told.severity == "nuclear"
    assert told.body.startswith("## NUCLEAR: Stop\n\n- Halted since: 2026-11-22T12:00:00Z\n")
    assert (alarm([], []), alarm([raised("info")], [])) == (None, None)


def test_the_alarm_goes_with_what_it_told_of(vault: Vault) -> None:
    vault.tick(alarm=alarm([raised("warning")], []))
    assert "severity: warning\n" in vault.read("brain-feed/amygdala-active.md")
    vault.tick()
    assert not (vault.root / "brain-feed/amygdala-active.md").exists()


def test_health_is_a_score_of_four_shares(vault: Vault) -> None:
    arc(
        vault, "2026-11-22-a", "<!-- @lesson -->\nx\n<!-- @/lesson -->\n<!-- @edge type=related target=2026-11-22-b -->"
    )
    arc(vault, "2026-11-22-b", signal("Down", source='""') + "<!-- @edge type=related target=nowhere -->")
    arc(vault, "2026-11-10-c", day="2026-11-10")
    _, kept = vault.plan()
    found = kept.health
    assert (found.arcs, found.signals, found.lessons) == (3, 1, 1)
    assert (found.coverage, found.freshness, found.connectivity, found.signal_quality) == (1 / 3, 2 / 7, 1 / 3, 0.0)
    assert found.score == 2
    assert found.reason == "signal quality 0%, freshness 29%, coverage 33%, connectivity 33%"


def test_health_has_a_row_a_moment_and_a_bound(vault: Vault) -> None:
    arc(vault, "2026-11-22-a")
    for number in range(5):
        for score in (None, 3):
            plan, kept = vault.plan(NOW + number * DAY, Thresholds(health_rows=3))
            record(plan, kept.health, score=score, reason="as I see it" if score else "")
            for change in plan.changes():
                vault.write(change.path, (change.after or b"").decode())
    rows = [orjson.loads(line) for line in vault.read("brain-feed/health.jsonl").splitlines()]
    assert [row["timestamp"] for row in rows] == [f"2026-11-{day}T12:00:00Z" for day in (24, 25, 26)]
    assert rows[0] == {
        "timestamp": "2026-11-24T12:00:00Z",
        "score": 3,
        "reason": "as I see it",
        "arcs": 1,
        "signals": 0,
        "lessons": 0,
        "computed": 3,
    }
