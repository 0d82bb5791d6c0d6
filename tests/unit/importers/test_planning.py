"""Properties of the import plan, for any files and any change to them."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from openbrain.domain.memory import MemoryType
from openbrain_cli.importers.execution.plan import Action, Existing, Plan, Target, plan
from openbrain_cli.importers.found_memory import FoundMemory, Note, Scan

COVERED = (("claude", "p/"),)
ANYWHERE = Target()


def section(path: str = "p/a.md", heading: str = "H", content: str = "text", **changes: object) -> FoundMemory:
    given: dict[str, object] = {"type": MemoryType.FACT, "project": "shop", **changes}
    return FoundMemory(client="claude", path=path, heading=heading, content=content, **given)  # type: ignore[arg-type]


def scan(*found: FoundMemory) -> Scan:
    return Scan(found, covered=COVERED)


def after(made: Plan, existing: Sequence[Existing], target: Target = ANYWHERE) -> list[Existing]:
    """The stored entries after the plan was carried out."""
    there = {each.id: each for each in existing}
    for step in made.of(Action.CREATE, Action.SUPERSEDE, Action.REFILE):
        old = step.existing
        if old is not None:
            del there[old.id]
        name = old.id if old is not None and step.action is Action.REFILE else f"m{len(there)}-{step.found.key}"
        there[name] = Existing(
            id=name,
            key=step.found.key,
            digest=step.found.digest,
            org=target.org_of(old),
            project=target.project_of(step.found, old),
        )
    return list(there.values())


SECTION = st.builds(
    section,
    path=st.sampled_from(["p/a.md", "p/b.md", "p/c.md"]),
    heading=st.sampled_from(["", "H", "H (2)", "K"]),
    content=st.sampled_from(["one", "two", "three", "four"]),
    type=st.sampled_from([MemoryType.FACT, MemoryType.BUG]),
    project=st.sampled_from(["shop", "other"]),
)
FILES = st.lists(SECTION, max_size=10, unique_by=lambda each: each.key)


@given(FILES, FILES)
def test_a_second_import_does_nothing(first: list[FoundMemory], second: list[FoundMemory]) -> None:
    existing = after(plan(scan(*first), [], ANYWHERE), [])
    existing = after(plan(scan(*second), existing, ANYWHERE), existing)

    again = plan(scan(*second), existing, ANYWHERE)

    assert again.of(Action.CREATE, Action.SUPERSEDE, Action.REFILE) == []


@given(FILES, FILES)
def test_everything_found_stands_afterwards_and_nothing_is_lost(
    first: list[FoundMemory], second: list[FoundMemory]
) -> None:
    existing = after(plan(scan(*first), [], ANYWHERE), [])
    made = plan(scan(*second), existing, ANYWHERE)
    standing = after(made, existing)

    assert {each.content_digest for each in second} <= {each.content_digest for each in standing}
    assert {step.found.key for step in made.steps} == {each.key for each in second}
    used = Counter(step.existing.id for step in made.steps if step.existing)
    assert all(number == 1 for number in used.values())
    assert not used.keys() & {each.id for each in made.vanished}


@given(FILES)
def test_vanished_are_exactly_those_that_are_not_found_any_more(files: list[FoundMemory]) -> None:
    existing = after(plan(scan(*files), [], ANYWHERE), [])

    gone = plan(scan(), existing, ANYWHERE)

    assert {each.id for each in gone.vanished} == {each.id for each in existing}
    assert gone.steps == ()


def stored(found: FoundMemory, **changes: str) -> Existing:
    made = Existing(id="1", key=found.key, digest=found.digest, org="", project=found.project)
    return replace(made, **changes)  # type: ignore[arg-type]


def actions(made: Plan) -> list[Action]:
    return [step.action for step in made.steps]


def test_an_edited_section_supersedes() -> None:
    made = plan(scan(section(content="new")), [stored(section())], ANYWHERE)

    assert [(step.action, step.existing and step.existing.id) for step in made.steps] == [(Action.SUPERSEDE, "1")]


def test_a_new_type_refiles() -> None:
    assert actions(plan(scan(section(type=MemoryType.BUG)), [stored(section())], ANYWHERE)) == [Action.REFILE]


def test_a_renamed_file_is_the_same_memory() -> None:
    made = plan(scan(section(path="p/new.md")), [stored(section())], ANYWHERE)

    assert actions(made) == [Action.REFILE]
    assert made.vanished == ()


def test_a_section_put_before_one_of_the_same_heading_supersedes_nothing() -> None:
    before = [stored(section(heading="H", content="old"))]
    made = plan(scan(section(heading="H", content="new"), section(heading="H (2)", content="old")), before, ANYWHERE)

    assert actions(made) == [Action.CREATE, Action.REFILE]


def test_the_same_text_twice_for_the_same_readers_is_one_memory_in_the_first_run_and_in_the_second() -> None:
    twice = scan(section(path="p/a.md"), section(path="p/b.md"))
    first = plan(twice, [], ANYWHERE)
    second = plan(twice, after(first, []), ANYWHERE)

    assert actions(first) == [Action.CREATE, Action.DUPLICATE]
    assert actions(second) == [Action.UNCHANGED, Action.DUPLICATE]


def test_for_different_projects_it_is_two() -> None:
    twice = scan(section(path="p/a.md"), section(path="p/b.md", project="other"))

    assert actions(plan(twice, [], ANYWHERE)) == [Action.CREATE, Action.CREATE]


def test_a_project_that_is_guessed_anew_moves_nothing() -> None:
    """Session files are deleted after a while, and the project name that was read from them is lost."""
    made = plan(scan(section(project="guess")), [stored(section())], ANYWHERE)
    edited = plan(scan(section(project="guess", content="new")), [stored(section())], ANYWHERE)

    assert actions(made) == [Action.UNCHANGED]
    assert ANYWHERE.project_of(edited.steps[0].found, edited.steps[0].existing) == "shop"


def test_a_project_that_is_named_is_another_place() -> None:
    made = plan(scan(section()), [stored(section())], Target(project="elsewhere"))

    assert actions(made) == [Action.CREATE]
    assert made.vanished == ()


def test_what_could_not_be_read_has_not_vanished() -> None:
    unread = Scan((), covered=COVERED, unread=frozenset({("claude", "p/a.md")}))

    assert plan(unread, [stored(section())], ANYWHERE).vanished == ()


def test_what_was_not_looked_at_has_not_vanished() -> None:
    elsewhere = Scan((), covered=(("claude", "p/a"), ("agents", "p/"), ("claude", "q/")))

    assert plan(elsewhere, [stored(section())], ANYWHERE).vanished == ()


def test_a_second_checkout_that_says_something_else_is_told_and_left() -> None:
    made = plan(scan(section(content="one"), section(content="two")), [], ANYWHERE)

    assert actions(made) == [Action.CREATE]
    assert made.notes == (Note("p/a.md", "skipped: another copy with different content is imported"),)
