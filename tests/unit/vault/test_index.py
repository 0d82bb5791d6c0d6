"""The index: an unchanged page costs one stat, and the result equals a full scan, whatever happened in between."""

import os
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from openbrain.vault.pages.index import Index
from tests.support.forms import examples
from tests.support.vault.pages import NOW, Vault, page, signal

ONE = "clusters/2026-11-22/2026-11-22-one.md"


def later() -> int:
    """A clock by which every file was last changed long ago."""
    return time.time_ns() + 3_600_000_000_000


def test_what_did_not_change_is_not_read(tmp_path: Path) -> None:
    vault = Vault(tmp_path / "vault")
    for name in ("one", "two", "three"):
        vault.write(f"clusters/2026-11-22/2026-11-22-{name}.md", page(f"2026-11-22-{name}"))
    state = tmp_path / "state.jsonl"
    assert Index(state, clock_ns=later).scan(vault.folder).read == 3
    assert Index(state, clock_ns=later).scan(vault.folder).read == 0
    vault.write(ONE, page("2026-11-22-one", "more"))
    assert Index(state, clock_ns=later).scan(vault.folder).read == 1
    assert replace(Index(state, clock_ns=later).scan(vault.folder), read=4) == replace(vault.scan(), read=4)


def test_a_change_that_neither_time_nor_size_shows_is_found(tmp_path: Path) -> None:
    """Right after a read, a file may change within the same tick of its file system's clock."""
    vault = Vault(tmp_path / "vault")
    vault.write(ONE, page("2026-11-22-one", "first"))
    at = (vault.root / ONE).stat()
    index = Index(clock_ns=lambda: at.st_mtime_ns + 1)
    index.scan(vault.folder)
    vault.write(ONE, page("2026-11-22-two", "first"))
    os.utime(vault.root / ONE, ns=(at.st_atime_ns, at.st_mtime_ns))
    assert (vault.root / ONE).stat().st_size == at.st_size

    assert index.scan(vault.folder).pages[ONE].title == "The arc 2026-11-22-two"


def test_what_was_just_written_need_not_be_read(tmp_path: Path) -> None:
    vault = Vault(tmp_path / "vault", Index(clock_ns=later))
    vault.write(ONE, page("2026-11-22-one", signal("Down")))
    vault.write("raw/inbox/idea.md", "---\ntags: [idea]\n---\nText")
    vault.tick()

    again = vault.index.scan(vault.folder)
    assert again.read <= 1, "the reference of no arc, the moved page and the heated one are known"
    assert again.pages == vault.scan().pages


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"",
        lambda data: b"0\n" + data.split(b"\n", 1)[1],
        lambda data: data[: len(data) // 2],
        lambda data: data.replace(b'"2026', b"2026"),
        lambda data: data + b'["half',
        lambda data: data + b"[1,2,3]\tx\n",
        lambda data: data + b"\xff\xfe\n",
        lambda data: data.split(b"\n", 1)[0] + b"\n[]\n{}\nnull\n",
    ],
)
def test_a_damaged_state_costs_a_rescan_and_nothing_else(tmp_path: Path, damage: Callable[[bytes], bytes]) -> None:
    vault, state = Vault(tmp_path / "vault"), tmp_path / "state.jsonl"
    vault.write(ONE, page("2026-11-22-one"))
    Index(state, clock_ns=later).scan(vault.folder)
    state.write_bytes(damage(state.read_bytes()))

    index = Index(state, clock_ns=later)
    assert index.scan(vault.folder).pages == vault.scan().pages
    assert Index(state, clock_ns=later).scan(vault.folder).pages == vault.scan().pages


def test_a_state_that_can_not_be_kept_is_none(tmp_path: Path) -> None:
    vault = Vault(tmp_path / "vault")
    vault.write(ONE, page("2026-11-22-one"))
    (tmp_path / "file").write_text("in the way")
    assert Index(tmp_path / "file" / "state.jsonl").scan(vault.folder).pages == vault.scan().pages


def test_the_state_does_not_grow_with_every_change(tmp_path: Path) -> None:
    vault, state = Vault(tmp_path / "vault"), tmp_path / "state.jsonl"
    for change in range(40):
        vault.write(ONE, page("2026-11-22-one", "x" * change))
        index = Index(state, clock_ns=later)
        index.scan(vault.folder)
    assert state.read_bytes().count(b"\n") <= 42
    index._lines = 5_000
    vault.write(ONE, page("2026-11-22-one", "last"))
    index.scan(vault.folder)
    assert state.read_bytes().count(b"\n") == 2
    assert Index(state, clock_ns=later).scan(vault.folder).pages == vault.scan().pages


def test_what_can_not_be_read_is_told_and_the_rest_is_read(tmp_path: Path) -> None:
    vault = Vault(tmp_path / "vault")
    vault.write(ONE, page("2026-11-22-one"))
    (vault.root / "left").mkdir()
    (vault.root / "left/latin.md").write_bytes(b"a\nb \xe9\n")
    (vault.root / "left/huge.md").write_bytes(b"x" * (5 * 1024 * 1024))
    (tmp_path / "outside.md").write_text(signal("Outside"))
    (vault.root / "left/out.md").symlink_to(tmp_path / "outside.md")
    (vault.root / "pineal").symlink_to(tmp_path)

    scan = vault.scan()

    assert set(scan.pages) == {ONE}
    told = {problem.path: problem for problem in scan.problems}
    assert set(told) == {"left/latin.md", "left/huge.md", "left/out.md", "pineal"}
    assert told["left/latin.md"].line == 2


NAMES = st.sampled_from(["a", "b", "c"])
FOLDERS = st.sampled_from(
    ["clusters/2026-11-20", "clusters/2026-11-21", "left", "frontal-lobe/conscious", "amygdala", "daily"]
)
TEXTS = st.sampled_from(
    [
        page("2026-11-20-x"),
        page("2026-11-20-x", signal("Down")),
        page("2026-11-20-y", "<!-- @inject -->\nMind it.\n<!-- @/inject -->"),
        page("2026-11-20-z", "<!-- @edge type=related target=2026-11-20-a -->", status="active"),
        "---\nreference: clusters/2026-11-20/2026-11-20-a.md\n---\n",
        "---\nbroken: [\n---\n" + signal("Down"),
        "no front matter\n",
        "",
    ]
)
EDITS = st.lists(
    st.one_of(
        st.tuples(st.just("write"), FOLDERS, NAMES, TEXTS),
        st.tuples(st.just("merged"), FOLDERS, NAMES, TEXTS),
        st.tuples(st.just("delete"), FOLDERS, NAMES, st.just("")),
        st.tuples(st.just("rename"), FOLDERS, NAMES, NAMES),
        st.tuples(st.just("tick"), st.just(""), st.just(""), st.just("")),
        st.tuples(st.just("restart"), st.just(""), st.just(""), st.just("")),
    ),
    max_size=12,
)


@settings(max_examples=examples(25), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(EDITS)
def test_incremental_is_a_full_scan(edits: list[tuple[str, str, str, str]]) -> None:
    with TemporaryDirectory() as folder:
        root = Path(folder)
        vault = Vault(root / "vault", Index(root / "state.jsonl"))
        for what, where, name, more in edits:
            path = f"{where}/2026-11-20-{name}{'.merged' if what == 'merged' else ''}.md"
            if what in {"write", "merged"}:
                vault.write(path, more)
            elif what == "delete":
                (vault.root / path).unlink(missing_ok=True)
            elif what == "rename" and (vault.root / path).exists():
                (vault.root / path).rename(vault.root / where / f"2026-11-20-{more}.md")
            elif what == "tick":
                vault.tick(NOW)
            elif what == "restart":
                vault.index = Index(root / "state.jsonl")
            here, whole = vault.index.scan(vault.folder), vault.scan()
            assert (here.pages, here.shadowed, here.references) == (whole.pages, whole.shadowed, whole.references)
            assert list(here.pages) == list(whole.pages)
            assert (here.dashboards, here.inbox, here.problems) == (whole.dashboards, whole.inbox, whole.problems)
        # The ticks that follow from either index are the same, too.
        assert vault.plan(NOW)[0].changes() == Vault(vault.root, Index()).plan(NOW)[0].changes()


def test_what_was_merged_stands_for_the_page_that_it_was(tmp_path: Path) -> None:
    vault = Vault(tmp_path / "vault")
    vault.write(ONE, page("2026-11-22-one"))
    vault.write(ONE.replace(".md", ".merged.md"), page("2026-11-22-one"))
    vault.write(ONE.replace("clusters/", "frontal-lobe/"), page("2026-11-22-one"))
    scan = vault.scan()
    assert [(arc.path, arc.merged) for arc in scan.pages.values()] == [(ONE.replace(".md", ".merged.md"), True)]
    assert {arc.path for arc in scan.shadowed} == {ONE, ONE.replace("clusters/", "frontal-lobe/")}


def test_a_page_without_a_date_is_as_old_as_its_file_also_where_only_that_changed(tmp_path: Path) -> None:
    vault = Vault(tmp_path / "vault")
    vault.write("left/notes.md", "text")
    index = Index(clock_ns=later)
    for day in (5, 9):
        os.utime(vault.root / "left/notes.md", (day * 86_400, day * 86_400))
        assert index.scan(vault.folder).pages["left/notes.md"].created_us == day * 86_400_000_000
