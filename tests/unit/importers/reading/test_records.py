"""Tables and lists of records: named fields, broken files, and files larger than memory."""

import json
import tracemalloc
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from openbrain.domain.errors import Invalid
from openbrain.domain.memory import MemoryType, Scope
from openbrain_cli.importers.execution.spill_file import SpillFile
from openbrain_cli.importers.found_memory import TAG, FoundMemory, Scan
from openbrain_cli.importers.locations.scanning import Client, Wanted, gather, look, sources
from openbrain_cli.importers.records.mapping import confidence, when
from tests.support.cli.import_samples import ALL, homes, lay_out


def scan_of(tmp_path: Path, name: str, content: str | bytes, columns: Mapping[str, str] | None = None) -> Scan:
    file = tmp_path / name
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    return look([file], homes(tmp_path), columns=columns)


def reasons(scan: Scan) -> list[str]:
    return [note.reason for note in scan.notes]


def sample(client: str, tmp_path: Path) -> tuple[FoundMemory, ...]:
    return look([lay_out(next(each for each in ALL if each.client == client), tmp_path)], homes(tmp_path)).found


def test_columns_are_known_by_their_names(tmp_path: Path) -> None:
    caching, invoices, nameless = sample("csv", tmp_path)

    assert caching.content == "Caching\n\nThe key holds the tenant;\nalways."
    assert (caching.heading, caching.tags, caching.confidence) == ("1", ("cache", "bug", TAG), 0.9)
    assert caching.occurred_at == datetime(2026, 4, 1, tzinfo=UTC)
    assert caching.details == {"record": {"id": "1", "Owner": "Ada"}}
    assert invoices.details["record"] == {"id": "2", "Date": "yesterday", "Confidence": "high"}
    assert (nameless.heading, nameless.details["record"]["column 8"]) == ("Without an id.", "an extra cell")


def test_records_of_any_shape(tmp_path: Path) -> None:
    facade, plumber, bare = sample("ndjson", tmp_path)

    assert (facade.type, facade.heading) == (MemoryType.FACT, "a1")
    assert facade.details["record"]["extra"] == {"nested": [1, 2, {"deep": True}]}
    assert (plumber.type, plumber.scope, plumber.project) == (MemoryType.PLAN, Scope.PROJECT, "house")
    assert plumber.occurred_at == datetime(2026, 2, 2, 2, 40, tzinfo=UTC)
    assert (bare.heading, bare.content) == ("No id at all, only words.", "No id at all, only words.")


def test_a_person_names_the_columns(tmp_path: Path) -> None:
    text = "Datum,Notiz,Stichworte,Wer\n2026-01-02,Die Pumpe tropft.,haus;keller,Ada\n"
    without = scan_of(tmp_path, "a.csv", text)
    found = scan_of(tmp_path, "a.csv", text, {"content": "Notiz", "tags": "stichworte", "occurred_at": "Datum"}).found[
        0
    ]

    assert without.found == ()
    assert reasons(without) == ["no field of its records holds a text: name it with --map content=FIELD"]
    assert (found.content, found.tags) == ("Die Pumpe tropft.", ("haus", "keller", TAG))
    assert (str(found.occurred_at)[:10], found.details["record"]) == ("2026-01-02", {"Wer": "Ada"})


def test_a_field_inside_others_is_named_with_dots(tmp_path: Path) -> None:
    found = scan_of(tmp_path, "a.jsonl", '{"data": {"says": "deep"}, "n": 1}', {"content": "data.says"}).found[0]

    assert (found.content, found.details["record"]) == ("deep", {"data": {"says": "deep"}, "n": 1})


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_separators_are_told_from_the_first_line(separator: str, tmp_path: Path) -> None:
    lines = [("id", "text", "tags"), ("1", "what, it; says | all", "a")]
    quoted = "\n".join(separator.join(f'"{cell}"' for cell in line) for line in lines)

    assert [each.content for each in scan_of(tmp_path, "a.csv", quoted).found] == ["what, it; says | all"]


def test_columns_of_one_name_are_both_kept(tmp_path: Path) -> None:
    found = scan_of(tmp_path, "a.csv", "text,x,x,\nsays,1,2,3\n").found[0]

    assert found.details["record"] == {"x": "1", "x (column 3)": "2", "column 4": "3"}


BROKEN: tuple[tuple[str, str | bytes, str], ...] = (
    ("a.csv", b"text\nok\nGr\xfc\xdfe\n", "is not UTF-8 text (line 3)"),
    ("a.csv", b"text\nok\n\0\n", "is binary, not text"),
    ("a.csv", "text\nok\n".encode("utf-16"), "is UTF-16 text: save it as UTF-8"),
    ("a.csv", 'text,b\nok,1\n"never closed,2\n', "line 3: is no row of the table: check its quotes"),
    ("a.ndjson", '{"text": "ok"}\n{"text": broken secret}\n', "line 2: is no JSON"),
    ("a.ndjson", '{"text": "ok"}\n' + "[" * 200_000 + "\n", "line 2: is too deeply nested"),
    ("a.json", '[{"text": "ok"}, {"text": secret}]', "record 2: is no JSON"),
    ("a.json", '[{"text": "ok"}, {"text": "cut', "record 2: is no JSON"),
    ("a.json", '[{"text": "ok"} {"text": "ok"}]', "is no JSON list: ] is missing"),
    ("a.json", '[{"text": "ok"}', "is no JSON list: ] is missing"),
    ("a.json", '[{"text": "ok"}] secret', "more text follows its list"),
    ("a.json", '{"a": [{"text": "1"}], "b": [{"text": "2"}]}', "holds several lists of records: make a file of the"),
    ("a.json", '{"a": ', "it: is no JSON"),
)


@pytest.mark.parametrize(("name", "content", "reason"), BROKEN)
def test_a_broken_file_is_told_and_never_half_imported(
    name: str, content: str | bytes, reason: str, tmp_path: Path
) -> None:
    scan = scan_of(tmp_path, name, content)

    assert scan.found == ()
    assert len(scan.notes) == 1
    assert scan.notes[0].reason.startswith(reason)
    assert "secret" not in scan.notes[0].reason
    assert scan.covered == ()


@pytest.mark.parametrize("content", ["", " \n\n", "[]", "{}", "\ufeff[]", "text,tags\n", "\ufeff"])
@pytest.mark.parametrize("name", ["a.csv", "a.json", "a.ndjson"])
def test_an_empty_file_is_empty(name: str, content: str, tmp_path: Path) -> None:
    assert scan_of(tmp_path, name, content).found == () or name == "a.csv"


def test_a_list_is_read_as_a_stream_across_its_blocks(tmp_path: Path) -> None:
    rows = [{"id": number, "text": f"{number} {'ä' * (number * 977 % 40_000)}."} for number in range(300)]
    found = scan_of(tmp_path, "a.json", json.dumps(rows, ensure_ascii=False, indent=3)).found

    assert [each.content for each in found] == [row["text"] for row in rows]


def test_an_export_of_our_own_is_not_taken_for_records(tmp_path: Path) -> None:
    with pytest.raises(Invalid, match="is an export of OpenBrain"):
        scan_of(tmp_path, "a.ndjson", '{"kind": "header", "format": "openbrain-export"}\n{"text": "x"}\n')


def test_a_folder_of_records_when_told_so(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    for number in range(3):
        (tmp_path / "out" / f"{number}.ndjson").write_text(json.dumps({"text": f"note {number}"}))
    found = look([tmp_path / "out"], homes(tmp_path), Client.NDJSON).found

    assert [each.content for each in found] == ["note 0", "note 1", "note 2"]
    assert look([tmp_path / "out"], homes(tmp_path)).found == ()


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("2026-05-05", datetime(2026, 5, 5, tzinfo=UTC)),
        ("1767225600", datetime(2026, 1, 1, tzinfo=UTC)),
        (" 20260504 ", datetime(2026, 5, 4, tzinfo=UTC)),
        (20260504, datetime(2026, 5, 4, tzinfo=UTC)),
        ("20260230", None),
        ("86400000", datetime(1972, 9, 27, tzinfo=UTC)),
        (1767225600.5, datetime(2026, 1, 1, 0, 0, 0, 500_000, UTC)),
        (1767225600000, datetime(2026, 1, 1, tzinfo=UTC)),
        (True, None),
        ("soon", None),
        (float("nan"), None),
        (10**400, None),
        ([], None),
        ("9" * 500, None),
    ],
)
def test_times(written: Any, meant: datetime | None) -> None:
    assert when(written) == meant


@pytest.mark.parametrize(
    ("written", "meant"), [("0.5", 0.5), (1, 1.0), (1.5, None), (-1, None), ("x", None), (True, None), ("nan", None)]
)
def test_confidence(written: Any, meant: float | None) -> None:
    assert confidence(written) == meant


def peak_of(path: Path, home: Path) -> tuple[int, int]:
    """Return the number of sections and the peak memory in bytes of one read."""
    tracemalloc.start()
    with SpillFile() as spill_file:
        found = gather(sources([path], Wanted(homes=homes(home))), put_away=spill_file.put).found
        _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return len(found), peak


def test_memory_does_not_grow_with_the_texts(tmp_path: Path) -> None:
    """Of 12 MB of notes and as much again of records, only a fraction is in memory at any time."""
    notes = tmp_path / "notes"
    for number in range(300):
        folder = notes / f"{number % 30}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{number}.md").write_text(f"# Note {number}\n" + f"word{number} " * 5_000)
    records = tmp_path / "a.json"
    with records.open("w") as file:
        file.write("[")
        for number in range(300):
            file.write("," * (number > 0) + json.dumps({"id": number, "text": f"row{number} " * 6_000}))
        file.write("]")
    of_notes, of_records = peak_of(notes, tmp_path), peak_of(records, tmp_path)

    assert records.stat().st_size > 10_000_000
    assert (of_notes[0], of_records[0]) == (300, 300)
    assert of_notes[1] < 2_000_000
    assert of_records[1] < 8_000_000
