"""Whatever a file holds, reading it never raises and never loses text."""

import csv
import io
import json
import unicodedata
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from openbrain.domain.events.submission import Submission
from openbrain_cli.importers.json_safe import json_safe, that_fit
from openbrain_cli.importers.locations.scanning import Client, look
from openbrain_cli.importers.markdown.frontmatter import page
from openbrain_cli.importers.markdown.sections import full_sections
from openbrain_cli.importers.markdown.wikilinks import MAX_LINKS, inline_tags, wikilinks
from openbrain_cli.importers.sources.hermes import entries
from tests.support.cli.import_samples import homes
from tests.support.forms import examples

in_a_folder = settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    deadline=None,
    max_examples=examples(60),
)

WORDS = st.text(alphabet=st.characters(categories=["L", "N", "P", "S", "Zs"]), max_size=12)
MARKDOWN = st.lists(
    st.one_of(
        st.sampled_from(["# One", "## Two", "### Three", "---", "```", "~~~", "§", "- [a] b #c", "@a.md", "> q"]),
        st.sampled_from(["[[Link|shown]]", "![[x.png]]", "[[a#b]] [[c^d]]", "`[[no]]`", "#tag/sub #1", "key: value"]),
        WORDS,
    ),
    max_size=25,
).map("\n".join)
BLOCK = st.text(alphabet="-:#[]{}&*!|>'\"%@`, \n\tabc0", max_size=80)


def words(text: str) -> list[str]:
    return [word for line in text.split("\n") for word in line.strip("# \t").split()]


@given(MARKDOWN)
def test_full_sections_lose_no_word(text: str) -> None:
    told = "\n".join(section.text for section in full_sections(text))

    assert words(told) == words(text)
    assert all(section.body for section in full_sections(text))


@given(BLOCK, WORDS)
def test_loose_frontmatter_is_always_read(block: str, body: str) -> None:
    text = f"---\n{block}\n---\n{body}"
    found = page(text, loose=True)

    assert found.body == text or text.endswith(found.body)
    assert found.problem == ""
    if page(text).problem:
        kept = "".join(f"{name}{value}" for name, value in found.meta.items())
        assert set(kept) >= set(block.partition("\n---")[0]) - set(" \n\t-:.")
    for name in ("a", "abc", "globs"):
        found.text(name)
        found.listed(name)
        found.moment(name)


@given(MARKDOWN)
def test_links_and_tags_are_in_the_text(text: str) -> None:
    links, tags = wikilinks(text), inline_tags(text)

    assert len(links) <= MAX_LINKS
    assert len(set(links)) == len(links)
    assert all(f"[[{link}" in text.replace("[[ ", "[[") for link in links if link)
    assert all(f"#{tag}" in text for tag in tags)


@given(MARKDOWN)
def test_entries_lose_nothing_but_their_borders(text: str) -> None:
    told = " ".join(each.body for each in entries(text)).split()

    assert told == [word for line in text.split("\n") if line.strip() != "§" for word in line.split()]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


@given(JSON)
def test_plain_is_json_that_a_memory_may_hold(value: Any) -> None:
    kept, _ = that_fit({"a": value})

    json.dumps(json_safe(value), allow_nan=False).encode()
    Submission.model_validate({"content": "x", "type": "fact", "metadata": kept})


@given(st.dictionaries(st.text(max_size=8), st.text(max_size=4000), max_size=6))
def test_what_has_no_room_is_named(values: dict[str, str]) -> None:
    kept, short = that_fit(values)

    assert len(json.dumps(kept, ensure_ascii=False).encode("utf-8", "replace")) <= 9000
    assert {json_safe(name) for name in values} == set(kept) | {json_safe(name) for name in short}


CELL = st.text(alphabet=st.characters(categories=["L", "N", "P", "S", "Zs"], include_characters="\n\t"), max_size=15)
HEADER = st.lists(
    st.sampled_from(["id", "Text", "note", "Title", "tags", "date", "type", "project", "other", "", "confidence"]),
    min_size=1,
    max_size=6,
)


@in_a_folder
@given(HEADER, st.lists(st.lists(CELL, max_size=8), max_size=5))
def test_no_cell_of_a_table_is_lost(tmp_path: Path, header: list[str], rows: list[list[str]]) -> None:
    """Checked for rows that have a text."""
    written = io.StringIO(newline="")
    csv.writer(written).writerows([["content", *header], *(["says", *row] for row in rows)])
    (tmp_path / "t.csv").write_text(written.getvalue(), encoding="utf-8", newline="")
    found = look([tmp_path / "t.csv"], homes(tmp_path)).found

    assert len(found) == len(rows)
    for each, row in zip(found, rows, strict=True):
        told = everything(each.offer()) | {str(each.occurred_at)[:10], str(each.confidence)}
        for cell in row:
            parts = [part.strip().removeprefix("#").strip() for part in cell.replace(";", ",").split(",")]
            whole = all(squeezed(part) in told or not part for part in parts)
            assert whole or any(squeezed(cell) in one for one in told) or as_number(cell) == each.confidence


def as_number(cell: str) -> float | None:
    try:
        return float(cell)
    except ValueError:
        return None


def squeezed(text: str) -> str:
    return "".join(unicodedata.normalize("NFC", text).split()).casefold()


def everything(value: Any) -> set[str]:
    """All strings in `value`."""
    if isinstance(value, dict):
        return set().union(*(everything(each) for each in value.values()))
    if isinstance(value, list):
        return set().union(*(everything(each) for each in value))
    return {squeezed(str(value))}


@in_a_folder
@given(st.binary(max_size=200) | MARKDOWN.map(str.encode) | JSON.map(json.dumps).map(str.encode))
def test_any_bytes_in_any_file_raise_nothing(tmp_path: Path, raw: bytes) -> None:
    for name in NAMES:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(raw)
        for found in look([path], homes(tmp_path)).found:
            Submission.model_validate(found.offer())


NAMES = (
    "n/a.md",
    "p/.cursor/rules/a.mdc",
    "p/GEMINI.md",
    "p/.windsurf/rules/a.md",
    "p/.github/instructions/a.instructions.md",
    "r/a.csv",
    "r/a.json",
    "r/a.ndjson",
    ".codex/memories/memory_summary.md",
    ".hermes/memories/MEMORY.md",
)


@in_a_folder
@given(st.lists(st.dictionaries(st.sampled_from(["mapping", "title", "current_node", "id", "create_time"]), JSON)))
def test_any_json_for_conversations_raises_nothing(tmp_path: Path, rows: list[Any]) -> None:
    (tmp_path / "conversations.json").write_text(json.dumps(rows))
    for found in look([tmp_path / "conversations.json"], homes(tmp_path), Client.CHATGPT).found:
        Submission.model_validate(found.offer())


@pytest.mark.parametrize("kind", [Client.MEM0, Client.HINDSIGHT, Client.NDJSON])
@in_a_folder
@given(rows=st.lists(st.dictionaries(st.sampled_from(["id", "text", "memory", "content", "tags", "date"]), JSON)))
def test_any_records_raise_nothing(tmp_path: Path, kind: Client, rows: list[Any]) -> None:
    (tmp_path / "a.json").write_text(json.dumps(rows))
    for found in look([tmp_path / "a.json"], homes(tmp_path), kind).found:
        Submission.model_validate(found.offer())
