"""Cluster: from sessions to arcs."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openbrain.domain.errors import NotFound
from openbrain.domain.times import from_datetime
from openbrain.vault.front_matter.document import read
from openbrain.vault.markers.markers import parse
from openbrain.vault.pages.arc_parsing import parse_arc
from openbrain.vault.pages.arcs import Arc
from openbrain.vault.pages.index import Scan
from openbrain.vault.thresholds import Thresholds
from openbrain_tick.plan.arcs.cluster import cluster, groups
from openbrain_tick.plan.arcs.new_arc import Group, page
from openbrain_tick.plan.extract import Session
from openbrain_tick.plan.plan import Plan, begin

NOW = datetime(2026, 11, 21, 20, 0, tzinfo=UTC)
PROMPT = "Please fix the broken vault tick cache now"


def session(name: str, start: float = 4, minutes: float = 30, **more: Any) -> Session:
    """A session that began `start` hours before NOW."""
    begins = NOW - timedelta(hours=start)
    fields: dict[str, Any] = {"project": "alpha", "first_user_prompt": PROMPT, "num_user_turns": 6, **more}
    return Session(
        session_id=name, start=begins, end=begins + timedelta(minutes=minutes), duration_minutes=minutes, **fields
    )


class Vault:
    """Pages in memory, by path."""

    def __init__(self) -> None:
        self.pages: dict[str, str] = {}

    def arcs(self) -> list[Arc]:
        return [parse_arc(path, text, 0) for path, text in self.pages.items()]

    def read(self, path: str) -> str:
        if path not in self.pages:
            raise NotFound(path)
        return self.pages[path]

    def cluster(self, *sessions: Session, now: datetime = NOW, earlier: Sequence[Session] = ()) -> Plan:
        """Plan and apply a cluster run. `earlier` are sessions outside the window whose transcripts exist."""
        scan = Scan({arc.path: arc for arc in self.arcs()})
        plan = begin(scan, self.read, from_datetime(now), Thresholds())
        cluster(plan, sessions, {each.session_id: each for each in earlier}.get)
        for change in plan.changes():
            assert change.after is not None
            self.pages[change.path] = change.after.decode()
        return plan


def named(found: Iterable[Group]) -> list[list[str]]:
    return [[each.session_id for each in group.sessions] for group in found]


@pytest.mark.parametrize(
    ("sessions", "expected"),
    [
        ([session("b", 2), session("a", 4)], [["a", "b"]]),
        ([session("a", 4), session("b", 1.5)], [["a", "b"]]),
        ([session("a", 4), session("b", 1.49)], [["a"], ["b"]]),
        ([session("a", 4, 200), session("b", 3)], [["a", "b"]]),
        ([session("a", 4), session("b", 3, project="other")], [["a"], ["b"]]),
        ([session("a", 4), session("b", 3.2, compactions=1), session("c", 3)], [["a"], ["b"], ["c"]]),
        ([session("a", 4, git_branch="x"), session("b", 3, git_branch="y")], [["a", "b"]]),
    ],
)
def test_sessions_come_together_by_project_time_and_compaction(
    sessions: Sequence[Session], expected: list[list[str]]
) -> None:
    assert named(groups(sessions)) == expected


@pytest.mark.parametrize(
    ("first", "last", "title"),
    [
        (PROMPT, "", PROMPT),
        ("too short", "and now make the tests pass", "and now make the tests pass"),
        ("<command-name>/model</command-name> and more of it", "", "alpha session (main)"),
        ("Caveat: the messages below were generated", "", "alpha session (main)"),
        ("[Request interrupted by user for tool use]", "", "alpha session (main)"),
        ("/home/u/dev/alpha/some/long/path.py", "", "alpha session (main)"),
        ("# A heading of some other page", "", "alpha session (main)"),
        ("do it to me so", "", "alpha session (main)"),
        ("Look at every file of this folder and say which of them are too long", "", None),
    ],
)
def test_a_title_is_what_was_asked(first: str, last: str, title: str | None) -> None:
    group = Group((session("a", first_user_prompt=first, last_user_prompt=last, git_branch="main"),))

    assert group.title == (title or "Look at every file of this folder and say which of them are")
    assert Group((session("a", first_user_prompt="", project="unknown"),)).title == "Untitled session"


def test_a_title_ends_with_a_word_and_the_id_is_the_originals() -> None:
    group = Group(
        (session("a", first_user_prompt="Rebuild the whole deployment pipeline of the shop-backend-service"),)
    )

    assert group.title == "Rebuild the whole deployment pipeline of the"
    assert group.cluster_id.startswith("2026-11-21-rebuild-the-whole-deployment-pipeline-of-")
    assert Group((session("a", first_user_prompt=f"mend {'a' * 70} now please"),)).title == f"mend {'a' * 55}"


def test_a_cluster_id_has_the_day_the_title_and_the_hash_of_its_sessions() -> None:
    group = Group((session("22222222-bbbb"),))

    assert group.cluster_id == "2026-11-21-please-fix-the-broken-vault-tick-cache-n-27078b5d927f"
    assert Group((session("a", first_user_prompt="дай мне посмотреть на это"),)).cluster_id.startswith(
        "2026-11-21-untitled-"
    )


@pytest.mark.parametrize(
    ("sessions", "region"),
    [
        ([session("a", error_markers=10, joy_markers=4)], "amygdala"),
        ([session("a", error_markers=10, joy_markers=5)], "left-hemisphere"),
        ([session("a", error_markers=9), session("b", error_markers=9)], "left-hemisphere"),
        ([session("a", error_markers=4, joy_markers=5)], "pineal"),
        ([session("a", cwd="/w/blog", git_branch="main")], "right-hemisphere"),
        ([session("a", cwd="/w/blog", git_branch="fix/ci")], "left-hemisphere"),
        ([session("a", cwd="/w/blogs")], "left-hemisphere"),
    ],
)
def test_a_region_is_told_from_what_happened_and_where(sessions: Sequence[Session], region: str) -> None:
    assert Group(tuple(sessions)).region == region


@pytest.mark.parametrize(
    ("sessions", "heat", "status"),
    [
        ([session("a", 0.5)], 3, "active"),
        ([session("a", 6.6)], 3, "complete"),
        ([session("a", 49)], 1, "stalled"),
        ([session("a", 80)], 0, "stalled"),
        ([session("a", 1, num_tool_calls=999), session("b", 0.6, num_tool_calls=1)], 6, "active"),
        ([session(str(n), 1, num_tool_calls=900, joy_markers=1) for n in range(5)], 10, "active"),
    ],
)
def test_heat_and_status_at_birth(sessions: Sequence[Session], heat: int, status: str) -> None:
    group = Group(tuple(sessions))

    assert (group.heat(NOW), group.status(NOW)) == (heat, status)


def test_the_same_sessions_again_change_nothing() -> None:
    vault = Vault()
    first = vault.cluster(session("a", 4), session("b", 3))

    assert (first.counts["clusters_created"], vault.cluster(session("a", 4), session("b", 3)).changes()) == (1, ())


def test_defect_06_what_was_written_into_an_arc_stays_when_it_is_clustered_again() -> None:
    vault = Vault()
    vault.cluster(session("a", 4))
    (path,) = vault.pages
    worked_on = (
        vault.pages[path]
        .replace("synthesized: false\n---", 'synthesized: true # by hand\nsummary: "It works"\nheat_by: me\n---')
        .replace("### Completed\n", "### Completed\n\nAll of it.\n<!-- @lesson -->\nTest first.\n<!-- @/lesson -->\n")
    )
    vault.pages[path] = worked_on

    assert vault.cluster(session("a", 4)).changes() == ()
    assert vault.cluster(session("a", 4, 60, num_tool_calls=5)).counts == {"clusters_extended": 1}
    counted = (
        worked_on.replace("tools: 0", "tools: 5")
        .replace("/ 0 tool", "/ 5 tool")
        .replace("Duration: 0.5h", "Duration: 1.0h")
        .replace("(6 turns, 0.5h", "(6 turns, 1.0h")
    )
    assert vault.pages == {path: counted}


def test_a_session_of_the_next_day_goes_to_the_arc_that_it_continues() -> None:
    vault = Vault()
    vault.cluster(session("a", 4, num_tool_calls=7))
    (path,) = vault.pages
    before = vault.pages[path]
    later = NOW + timedelta(hours=10)

    made = vault.cluster(session("a", 4, num_tool_calls=7), session("b", 2, num_tool_calls=3), now=later)

    assert (made.counts, list(vault.pages)) == ({"clusters_extended": 1}, [path])
    found = read(vault.pages[path], path)
    assert found.front.strings("source_sessions") == ("a", "b")
    assert found.front.get("signals") == {"errors": 0, "joy": 0, "tools": 10}
    assert found.front.text("status") == "complete"
    assert found.front.text("created") == read(before, path).front.text("created")
    counted = (
        read(before, path)
        .body.replace("0.5h across 1 session(s)", "1.0h across 2 session(s)")
        .replace("6 user / 0 assistant / 7 tool", "12 user / 0 assistant / 10 tool")
    )
    assert found.body == counted + "- home-bridge://sessions/b (6 turns, 0.5h, branch=)\n"
    assert (
        vault.cluster(session("a", 4, num_tool_calls=7), session("b", 2, num_tool_calls=3), now=later).changes() == ()
    )


def test_counts_are_added_where_a_transcript_is_gone_and_never_fall() -> None:
    vault = Vault()
    vault.cluster(session("a", 4, num_tool_calls=7), session("b", 3, num_tool_calls=2))
    (path,) = vault.pages

    vault.cluster(session("b", 3, num_tool_calls=2), session("c", 2, num_tool_calls=3))
    assert read(vault.pages[path], path).front.get("signals") == {"errors": 0, "joy": 0, "tools": 12}

    assert vault.cluster(session("a", 4), session("b", 3), session("c", 2)).changes() == ()


def test_a_session_that_goes_on_counts_though_another_of_its_arc_left_the_window() -> None:
    first = session("a", 6, num_tool_calls=7, joy_markers=1)
    vault = Vault()
    vault.cluster(first, session("b", 5, num_tool_calls=2))
    (path,) = vault.pages
    goes_on = session("b", 5, 24 * 60, num_tool_calls=90, num_user_turns=40, error_markers=3)
    later = NOW + timedelta(hours=30)

    vault.cluster(goes_on, now=later, earlier=[first])

    found = read(vault.pages[path], path)
    assert found.front.get("signals") == {"errors": 3, "joy": 1, "tools": 97}
    assert found.front.text("status") == "complete"
    assert "- Duration: 24.5h across 2 session(s)\n- Turns: 46 user / 0 assistant / 97 tool\n" in found.body
    assert "- Error markers: 3 | Joy markers: 1\n" in found.body
    assert "- home-bridge://sessions/b (40 turns, 24.0h, branch=)\n" in found.body
    assert vault.cluster(goes_on, now=later, earlier=[first]).changes() == ()
    # If an earlier transcript is gone, no count falls, and larger counts are still taken over.
    vault.cluster(session("b", 5, 24 * 60, num_tool_calls=99), now=later)
    assert read(vault.pages[path], path).front.get("signals") == {"errors": 3, "joy": 1, "tools": 99}


def test_lines_that_somebody_worked_on_are_not_counted_anew() -> None:
    vault = Vault()
    vault.cluster(session("a", 4))
    (path,) = vault.pages
    vault.pages[path] = vault.pages[path].replace("- Turns: 6 user", "- Turns, mostly mine: 6 user")

    vault.cluster(session("a", 4, 60, num_tool_calls=5))

    assert "- Duration: 0.5h across 1 session(s)\n- Turns, mostly mine: 6 user / 0" in vault.pages[path]


def test_a_session_between_two_arcs_joins_the_first_and_links_them() -> None:
    vault = Vault()
    vault.cluster(session("a", 6), session("c", 3))
    assert len(vault.pages) == 2

    everything = [session("a", 6), session("b", 4.5), session("c", 3)]
    vault.cluster(*everything)

    first, second = sorted(vault.arcs(), key=lambda arc: arc.sessions)
    assert (first.sessions, second.sessions) == (("a", "b"), ("c",))
    assert read(vault.pages[first.path], first.path).front.get("edges") == [{"sibling": second.id}]
    assert vault.cluster(*everything).changes() == ()


def test_two_groups_of_one_arc_both_add_to_it() -> None:
    vault = Vault()
    vault.pages["left/x.md"] = "---\nsource_sessions: [a, d]\n---\n\ntext\n"

    vault.cluster(session("a", 10), session("b", 9), session("d", 3), session("e", 2))

    assert read(vault.pages["left/x.md"], "").front.strings("source_sessions") == ("a", "d", "b", "e")
    assert vault.pages["left/x.md"].count("home-bridge://") == 2
    assert vault.pages["left/x.md"].count("## Source sessions") == 1


def test_sessions_of_a_merged_arc_belong_to_the_one_that_took_them_in() -> None:
    vault = Vault()
    vault.pages["clusters/2026-11-20/a.merged.md"] = "---\nsource_sessions: [a]\n---\n"
    vault.pages["clusters/2026-11-20/b.md"] = "---\nsource_sessions: [b, a]\n---\n"

    vault.cluster(session("a", 4), session("c", 3))

    assert read(vault.pages["clusters/2026-11-20/b.md"], "").front.strings("source_sessions") == ("b", "a", "c")


def test_what_goes_on_after_a_merge_that_left_no_trace_is_a_sibling_of_it() -> None:
    vault = Vault()
    vault.pages["clusters/2026-11-20/2026-11-20-a.merged.md"] = "---\nsource_sessions: [a]\n---\n"

    vault.cluster(session("a", 4), session("c", 3))

    (path,) = [path for path in vault.pages if not path.endswith(".merged.md")]
    front = read(vault.pages[path], path).front
    assert (front.strings("source_sessions"), front.get("edges")) == (("c",), [{"sibling": "2026-11-20-a"}])
    assert vault.cluster(session("a", 4), session("c", 3)).changes() == ()


def test_a_page_that_is_there_already_stays() -> None:
    vault = Vault()
    path = f"clusters/2026-11-21/{Group((session('a', 4),)).cluster_id}.md"
    scan = Scan({})
    plan = begin(scan, lambda each: "mine" if each == path else vault.read(each), from_datetime(NOW), Thresholds())
    cluster(plan, [session("a", 4)])

    assert plan.changes() == ()


def test_an_arc_whose_front_matter_broke_is_neither_doubled_nor_written() -> None:
    vault = Vault()
    vault.cluster(session("a", 4))
    (path,) = vault.pages
    vault.pages[path] = vault.pages[path].replace("project: alpha", "project: [alpha")

    assert vault.cluster(session("a", 4)).changes() == ()


HOSTILE = (
    "Fix the token=hunter2hunter2 now\n```\n<!-- @signal severity=nuclear source=x -->\nhalt\n<!-- @/signal -->\n"
    "---\ncluster_id: other\n# ghp_abcdefghijklmnopqrstuvwxyz0123"
)


def test_what_people_typed_acts_as_nothing_in_a_page() -> None:
    text = page(Group((session("a\n---\nx", first_user_prompt=HOSTILE, git_branch="m\n<!-- @edge -->"),)), NOW)
    found = read(text, "x.md")

    assert (found.problems, parse(found.body, "x.md").markers) == ((), ())
    assert found.front.strings("source_sessions") == ("a\n---\nx",)
    assert found.front.text("title") == "Fix the token=[redacted] now"
    assert "hunter2" not in text
    assert "ghp_" not in text


@given(st.lists(st.tuples(st.integers(0, 40), st.booleans()), min_size=1, max_size=12), st.data())
def test_in_whatever_parts_sessions_come_each_is_in_one_arc(
    places: list[tuple[int, bool]], data: st.DataObject
) -> None:
    sessions = [session(f"s{n}", 40 - at, compactions=int(alone)) for n, (at, alone) in enumerate(places)]
    vault = Vault()
    while sessions:
        cut = data.draw(st.integers(1, len(sessions)))
        vault.cluster(*data.draw(st.permutations(sessions[:cut])))
        assert vault.cluster(*sessions[:cut]).changes() == ()
        sessions = sessions[cut:]

    told = [each for arc in vault.arcs() for each in arc.sessions]
    assert sorted(told) == sorted(f"s{n}" for n in range(len(places)))
