"""The keeper's pass: what enters the mind, what leaves it, and that one pass does it all."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from openbrain.vault.thresholds import HEAD, SPEC
from openbrain_tick.plan.deterministic import publish, tidy
from tests.support.vault.pages import DAY, NOW, Vault, heats, page, signal

HOT: dict[str, Any] = {"status": "active", "tools": 2000}
CONSCIOUS, UNCONSCIOUS = "frontal-lobe/conscious", "frontal-lobe/unconscious"


@pytest.fixture
def vault(tmp_path: Path) -> Vault:
    return Vault(tmp_path / "vault")


def put(vault: Vault, name: str, body: str = "", *, day: str = "2026-11-22", **front: Any) -> str:
    path = f"clusters/{day}/{day}-{name}.md"
    vault.write(path, page(f"{day}-{name}", body, **{"created": f"{day}T10:00:00Z", **front}))
    return path


def names(vault: Vault, folder: str) -> set[str]:
    return {path.stem.removeprefix("2026-11-22-") for path in (vault.root / folder).glob("*.md")}


def test_a_hot_arc_gets_a_reference_and_stays_where_it_is(vault: Vault) -> None:
    path = put(vault, "hot", **HOT)
    put(vault, "cool")
    plan, _ = vault.tick()

    assert names(vault, CONSCIOUS) == {"hot"}
    assert "heat: 9\n" in vault.read(path)
    assert vault.read(f"{CONSCIOUS}/2026-11-22-hot.md") == (
        f'---\nreference: "{path}"\n---\n\n[[clusters/2026-11-22/2026-11-22-hot|The arc 2026-11-22-hot]]\n'
    )
    assert (plan.counts["promotions"], plan.counts["demotions"], plan.counts["heat_changes"]) == (1, 0, 2)
    assert heats(plan) == {"2026-11-22-hot": 9, "2026-11-22-cool": 3}


def test_it_leaves_only_below_the_lower_threshold_and_comes_back(vault: Vault) -> None:
    path = put(vault, "arc", **HOT)
    vault.tick()
    vault.write(path, page("2026-11-22-arc", created="2026-11-22T10:00:00Z", status="active"))  # heat 5: in between
    vault.tick()
    assert names(vault, CONSCIOUS) == {"arc"}
    vault.write(path, page("2026-11-22-arc", created="2026-11-22T10:00:00Z"))  # heat 3
    plan, _ = vault.tick()
    assert (names(vault, CONSCIOUS), names(vault, UNCONSCIOUS)) == (set(), {"arc"})
    assert plan.counts["demotions"] == 1
    vault.write(path, page("2026-11-22-arc", **HOT))
    vault.tick()
    assert (names(vault, CONSCIOUS), names(vault, UNCONSCIOUS)) == ({"arc"}, set())


def test_the_newest_set_has_no_room_between_its_thresholds(vault: Vault) -> None:
    put(vault, "arc", status="active")  # heat 6 in that folder
    vault.tick(thresholds=HEAD)
    assert names(vault, CONSCIOUS) == {"arc"}
    put(vault, "arc")  # heat 4
    vault.tick(thresholds=HEAD)
    assert names(vault, CONSCIOUS) == set()


def test_both_places_are_bounded_and_hold_the_hottest(vault: Vault) -> None:
    limits = replace(SPEC, conscious_limit=2, unconscious_limit=2)
    for number in range(4):
        put(vault, f"arc{number}", joy=number % 2, **HOT)  # heat 9 or 10
    vault.tick(thresholds=limits)
    assert names(vault, CONSCIOUS) == {"arc1", "arc3"}
    for number in range(4):
        put(vault, f"arc{number}")
    for number in range(4, 6):
        put(vault, f"arc{number}", **HOT)
    vault.tick(thresholds=limits)
    assert (names(vault, CONSCIOUS), names(vault, UNCONSCIOUS)) == ({"arc4", "arc5"}, {"arc1", "arc3"})


def test_a_reference_to_what_is_gone_goes(vault: Vault) -> None:
    path = put(vault, "hot", **HOT)
    vault.tick()
    (vault.root / path).unlink()
    vault.tick()
    assert names(vault, CONSCIOUS) == set()
    assert not (vault.root / "clusters/2026-11-22/_dashboard.md").exists()


@pytest.mark.parametrize("other", ["left/2026-11-22-x.md", f"{UNCONSCIOUS}/2026-11-22-x.md"])
def test_a_page_that_does_not_count_is_told(vault: Vault, other: str) -> None:
    path = put(vault, "x", "one text")
    vault.write(other, page("2026-11-22-x", "another text"))
    plan, _ = vault.tick()
    unused, counts = (path, other) if other.startswith("left/") else (other, path)
    assert [(problem.path, counts in problem.reason) for problem in plan.problems] == [(unused, True)]


@pytest.mark.parametrize("more", ["\nMy notes.\n\n<!-- @lesson -->\nAsk.\n<!-- @/lesson -->\n", "aliases: [x]"])
def test_what_somebody_wrote_into_a_reference_stays(vault: Vault, more: str) -> None:
    path = put(vault, "hot", **HOT)
    vault.tick()
    name = f"{CONSCIOUS}/2026-11-22-hot.md"
    text = vault.read(name) + more if more.endswith("\n") else vault.read(name).replace("\n---", f"\n{more}\n---")
    vault.write(name, text)
    plan, _ = vault.tick()
    assert vault.read(name) == text
    assert sum(arc.lessons for arc in plan.pages.values()) == more.count("@lesson")
    (vault.root / path).unlink()
    vault.tick()
    assert vault.read(name) == text


@pytest.mark.parametrize(
    ("region", "folder"),
    [
        ("left-hemisphere", "left"),
        ("right-hemisphere", "right"),
        ("pineal", "pineal"),
        ("amygdala", "amygdala"),
        ("?", "left"),
    ],
)
def test_cold_and_old_graduates_to_its_region(vault: Vault, region: str, folder: str) -> None:
    path = put(vault, "old", day="2026-11-14", region=f'"{region}"')
    young = put(vault, "young", day="2026-11-15")
    plan, _ = vault.tick()
    assert not (vault.root / path).exists()
    assert (vault.root / young).exists()
    assert "status: complete" in vault.read(f"{folder}/2026-11-14-old.md")
    assert plan.counts["graduations"] == 1


def test_graduating_never_writes_over_another_page_nor_renames_an_arc(vault: Vault) -> None:
    path = put(vault, "old", "mine", day="2026-11-14")
    vault.write("left/2026-11-14-old.md", "someone's")
    plan, _ = vault.tick()
    assert vault.read("left/2026-11-14-old.md") == "someone's"
    assert "mine" in vault.read(path)
    assert [problem.path for problem in plan.problems] == [path]


def test_an_arc_by_its_name_alone_stays_one_where_it_goes(vault: Vault) -> None:
    vault.write("clusters/2026-11-01/2026-11-01-note.md", "---\ntitle: Note\n---\nText\n")
    vault.tick()
    plan, _ = vault.tick(NOW + DAY)
    assert heats(plan) == {"2026-11-01-note": 0}


def test_the_inbox_goes_to_the_folder_of_its_first_known_tag(vault: Vault) -> None:
    vault.write("raw/inbox/one.md", "---\ntags: [whatever, incident, idea]\nstatus: stalled\n---\n" + signal("Down"))
    vault.write("raw/inbox/two.md", "no front matter\n")
    vault.write("raw/inbox/three.md", "---\ntags: brain-system, idea\ncreated: 2026-01-01\n---\n")
    vault.write("raw/inbox/four.md", "---\ntags: [\n---\n")
    vault.write("left/two.md", "someone's")
    plan, kept = vault.tick()

    assert vault.read("left/incidents/one.md").startswith(
        "---\ntags: [whatever, incident, idea]\nstatus: stalled\ncreated: 2026-11-22\nregion: left-hemisphere\n---\n"
    )
    assert vault.read("left/two-2.md").endswith("---\nno front matter\n")
    assert "status: active" in vault.read("left/two-2.md")
    assert "created: 2026-01-01" in vault.read("bridge/three.md")
    assert vault.read("raw/inbox/four.md") == "---\ntags: [\n---\n"
    assert (plan.counts["inbox_drained"], plan.counts["inbox_errors"]) == (3, 1)
    assert [problem.path for problem in plan.problems] == ["raw/inbox/four.md"]
    assert [each.mark.content for each in kept.signals] == ["Down"], "what was in the inbox counts in the same pass"


def test_dashboards_show_every_arc_of_their_day(vault: Vault) -> None:
    put(vault, "hot", **HOT)
    path = put(vault, "cool", title="a | b")
    vault.write(
        path,
        vault.read(path)
        .replace("title: The arc 2026-11-22-cool\n", "")
        .replace("title: a", 'title: "a')
        .replace("| b", '| b"'),
    )
    vault.write("clusters/2026-11-20/_dashboard.md", "old")
    vault.tick()
    assert vault.read("clusters/2026-11-22/_dashboard.md") == (
        "# Cluster Dashboard — 2026-11-22\n\n| Arc | Heat | Region | Status | Title |\n|---|---|---|---|---|\n"
        "| [[2026-11-22-hot]] | 9 | left-hemisphere | active | The arc 2026-11-22-hot |\n"
        "| [[2026-11-22-cool]] | 3 | left-hemisphere | complete | a - b |\n"
    )
    assert not (vault.root / "clusters/2026-11-20/_dashboard.md").exists()


def test_a_page_that_can_not_be_changed_is_told_and_left_as_it_is(vault: Vault) -> None:
    text = "---\ncluster_id: x\nstatus: active\nheat: &a 1\nother: *a\n---\nText\n"
    vault.write("clusters/2026-11-22/2026-11-22-x.md", text)
    broken = "---\na: [\n---\n"
    vault.write("clusters/2026-11-22/2026-11-22-y.md", broken)
    (vault.root / "brain-feed").mkdir()
    (vault.root / "brain-feed/signals.md").write_bytes(b"\xff")
    plan, _ = vault.tick()
    assert vault.read("clusters/2026-11-22/2026-11-22-x.md") == text
    assert vault.read("clusters/2026-11-22/2026-11-22-y.md") == broken
    assert (vault.root / "brain-feed/signals.md").read_bytes() == b"\xff"
    assert {problem.path.rsplit("/", 1)[1] for problem in plan.problems} == {
        "2026-11-22-x.md",
        "2026-11-22-y.md",
        "signals.md",
    }
    assert not vault.plan()[0].changes()


def test_a_plan_goes_through_the_keeper_again_after_pages_were_edited(vault: Vault) -> None:
    """As when a model's answer is planned on top of the keeper's plan."""
    path = put(vault, "hot", signal("Down"), **HOT)
    vault.write("raw/inbox/idea.md", "---\ntags: [idea]\n---\nText\n")
    plan, _ = vault.plan()
    counts = dict(plan.counts)
    tidy(plan, {})
    publish(plan, {}, None)
    assert {**plan.counts, "promotions": 1} == counts | {"promotions": 1}
    plan.edit(plan.pages[path], {"status": "complete", "signals": "{tools: 0}"})
    tidy(plan, {})
    publish(plan, {}, None)
    assert not [change for change in plan.changes() if change.path.startswith(CONSCIOUS)]


def test_line_breaks_comments_and_order_stay(vault: Vault) -> None:
    text = (
        "---\r\n# mine\r\ncluster_id: x\r\nheat: 9  # as I felt\r\nzeta: 1\r\nalpha: 2\r\n---\r\nheat: of the day\r\n"
    )
    path = "clusters/2026-11-22/2026-11-22-x.md"
    vault.write(path, text)
    vault.tick()
    assert vault.read(path) == text.replace("heat: 9  #", "heat: 3  #")


@pytest.mark.parametrize("created", ["29.11.2026", '"[[2026-10-02]]"', "[[2026-10-02]]", "last spring"])
def test_a_date_that_can_not_be_read_stays_as_somebody_wrote_it(created: str, vault: Vault) -> None:
    vault.write("left/x.md", f"---\ncluster_id: x\ncreated: {created}\nstatus: active\nheat: 9\n---\nText\n")
    vault.write("left/y.md", "---\ncluster_id: y\ncreated:\nstatus: active\nheat: 9\n---\nText\n")
    vault.tick()

    assert f"created: {created}\n" in vault.read("left/x.md")
    assert "heat: 9\n" not in vault.read("left/x.md"), "the rest of the page is kept"
    assert "created: 20" in vault.read("left/y.md"), "an empty date is filled in"
