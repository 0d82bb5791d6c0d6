"""The keeper's properties: one pass is enough, the state of an index has no effect, and a kill changes nothing."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from openbrain.vault.pages.arcs import identity
from openbrain.vault.pages.index import Index
from openbrain.vault.thresholds import HEAD, SPEC, Thresholds
from tests.support.forms import examples
from tests.support.vault.pages import DAY, NOW, Vault, page, signal

PAGES = st.lists(
    st.tuples(
        st.sampled_from(
            [
                "clusters/2026-11-21",
                "clusters/2026-10-01",
                "left",
                "raw/inbox",
                "frontal-lobe/conscious",
                "frontal-lobe/unconscious",
            ]
        ),
        st.sampled_from(["2026-11-21-a", "2026-11-21-b", "2026-10-01-c", "notes", "2026-11-21-a.merged"]),
        st.sampled_from(["2026-11-21T10:00:00Z", "2026-11-12", "2026-10-01", "soon"]),
        st.sampled_from(["active", "complete", "resolved"]),
        st.sampled_from([0, 1000, 5000]),
        st.sampled_from(["", "cluster_id", "mitigates", "replayed_from", "broken", "none"]),
        st.sampled_from(
            [
                "",
                signal("Down"),
                signal("Slow", "warning"),
                signal("Was down (CLEARED: mended)", "resolved"),
                signal("Was\n(CLEARED: mended)\n" + signal("Inner", "info"), "resolved"),
                "<!-- @inject ttl_days=1 -->\nMind it.\n<!-- @/inject -->\n",
                "<!-- @signal -->\nopen",
                "<!-- @edge type=related target=2026-11-21-b -->",
            ]
        ),
    ),
    max_size=6,
)


def written(vault: Vault, pages: list[tuple[str, str, str, str, int, str, str]]) -> None:
    for folder, name, created, status, tools, more, body in pages:
        text = page("", body, created=created, status=status, tools=tools)
        if more in {"cluster_id", "mitigates", "replayed_from"}:
            value = {"cluster_id": name, "mitigates": "auth-broker", "replayed_from": "2026-11-21-b"}[more]
            text = text.replace("edges: []", f"edges: []\n{more}: {value}")
        elif more == "broken":
            text = text.replace("edges: []", "edges: [")
        elif more == "none":
            text = body
        vault.write(f"{folder}/{name}.md", text)


@settings(max_examples=examples(25), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(PAGES, st.sampled_from([SPEC, HEAD, replace(SPEC, conscious_limit=1, unconscious_limit=1)]))
def test_a_second_pass_at_the_same_time_changes_no_byte(
    pages: list[tuple[str, str, str, str, int, str, str]], thresholds: Thresholds
) -> None:
    with TemporaryDirectory() as folder:
        vault = Vault(Path(folder) / "vault")
        written(vault, pages)
        ended = {identity("auth-broker", "Down"): "mended"}
        vault.tick(thresholds=thresholds, ended=ended)
        once = vault.tree()
        again, _ = vault.tick(thresholds=thresholds, ended=ended)
        assert again.changes() == ()
        assert vault.tree() == once
        whole = Vault(vault.root)
        assert whole.plan(thresholds=thresholds, ended=ended)[0].changes() == ()


@settings(max_examples=examples(15), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(PAGES, st.lists(st.integers(0, 40), min_size=1, max_size=3))
def test_a_kept_index_and_none_write_the_same_vault(
    pages: list[tuple[str, str, str, str, int, str, str]], days: list[int]
) -> None:
    with TemporaryDirectory() as folder:
        kept, fresh = Vault(Path(folder) / "kept"), Vault(Path(folder) / "fresh")
        for vault in (kept, fresh):
            written(vault, pages)
        now = NOW
        for day in days:
            now += day * DAY
            kept.tick(now)
            Vault(fresh.root).tick(now)
            assert kept.tree() == fresh.tree()


class Killed(BaseException):
    """Like a kill: no handler catches it."""


def test_a_tick_killed_at_any_step_ends_in_the_same_bytes(tmp_path: Path) -> None:
    def made(name: str) -> Vault:
        vault = Vault(tmp_path / name, Index(tmp_path / f"{name}.jsonl"))
        vault.write("clusters/2026-11-22/a.md", page("2026-11-22-a", signal("Down"), status="active", tools=2000))
        vault.write("clusters/2026-11-01/b.md", page("2026-11-01-b", created="2026-11-01"))
        vault.write("raw/inbox/idea.md", "---\ntags: [idea]\n---\nText\n")
        return vault

    whole = made("whole")
    steps: list[str] = []
    whole.tick(at_step=steps.append)
    for number in range(len(steps)):
        vault = made(f"killed-{number}")
        left = iter(range(number))

        def kill(_: str, left: Iterator[int] = left) -> None:
            if next(left, None) is None:
                raise Killed

        with pytest.raises(Killed):
            vault.tick(at_step=kill)
        Vault(vault.root, Index(tmp_path / f"killed-{number}.jsonl")).tick()
        assert vault.tree() == whole.tree(), steps[number]
    assert len(steps) > 8


def test_an_arc_that_the_inbox_brings_again_is_one_arc_in_the_same_pass(tmp_path: Path) -> None:
    vault = Vault(tmp_path / "vault")
    for path in ("clusters/2026-11-22/2026-11-22-a.md", "raw/inbox/2026-11-22-a.md"):
        vault.write(path, page("2026-11-22-a", tools=1000))
    plan, _ = vault.tick()
    assert [arc.path for arc in plan.arcs()] == ["left/2026-11-22-a.md"]
    assert vault.plan()[0].changes() == ()


def test_a_heat_that_was_added_moves_the_lines_below_it(tmp_path: Path) -> None:
    vault = Vault(tmp_path / "vault")
    path = "clusters/2026-11-22/2026-11-22-a.md"
    vault.write(path, page("2026-11-22-a", signal("Down")).replace("heat: 0\n", ""))
    plan, _ = vault.tick()
    assert plan.pages[path] == vault.scan().pages[path]
