"""Extract: from transcripts to a bundle."""

import json
import os
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from openbrain.domain.errors import Invalid, NotFound
from openbrain.vault.markers.transcripts import lines, records
from openbrain_tick.observe.transcripts import extracted
from openbrain_tick.plan.extract import Filter, Session, bundle, read_bundle, session, window

NOW = datetime(2026, 11, 21, 20, 0, tzinfo=UTC)
START = "2026-11-21T15:00:00Z"


def record(kind: str, text: Any = "", at: str = START, **more: Any) -> bytes:
    return json.dumps({"type": kind, "timestamp": at, "message": {"content": text}, **more}).encode()


def counted(*raw: bytes) -> Session:
    made = session("s", records(raw))
    assert made is not None
    return made


def laid_out(folder: Path, project: str, name: str, rows: Sequence[bytes]) -> Path:
    path = folder / project / f"{name}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"\n".join(rows))
    return path


def unexpected(path: Path) -> None:
    pytest.fail(f"{path} can't be read")


def test_everything_of_a_session_is_counted() -> None:
    found = counted(
        b"not json",
        b'{"type":"summary","summary":"x"}',
        record("user", "/compact", "2026-11-21T15:00:00Z", cwd="/home/u/alpha", gitBranch="fix/ci"),
        record("user", [{"type": "tool_result", "content": "ok"}], cwd="/elsewhere"),
        record("user", "  fix the tick  ", "2026-11-21T15:06:06Z"),
        record(
            "assistant",
            [{"type": "text", "text": "It FAILED."}, {"type": "tool_use", "name": "Bash", "input": {}}],
            "2026-11-21T14:59:00+00:00",
        ),
        record("assistant", "Finally green", at="no time"),
        record("assistant", "perfect, no errors, unfailed, 1500"),
    )

    assert (found.project, found.cwd, found.git_branch) == ("alpha", "/home/u/alpha", "fix/ci")
    assert (found.num_user_turns, found.num_assistant_turns, found.num_tool_calls) == (3, 2, 1)
    assert (found.first_user_prompt, found.last_user_prompt) == ("/compact", "fix the tick")
    assert (found.joy_markers, found.error_markers, found.compactions) == (1, 1, 1)
    assert found.duration_minutes == 7.1
    assert [(tool.name, tool.count) for tool in found.top_tools] == [("Bash", 1)]


def test_a_session_without_times_is_none() -> None:
    assert session("s", records([record("user", "hello", at="")])) is None


@pytest.mark.parametrize("broken", [b"\xff\xfe{", b"[1]", b'"x"', b'{"message": 3}', b'{"message":{"content":[1]}}'])
def test_what_is_no_record_is_passed_over(broken: bytes) -> None:
    assert counted(broken, record("user", "x")).num_user_turns == 1


def test_bytes_that_are_no_utf8_are_replaced() -> None:
    raw = record("user", "caf@ today").replace(b"@", b"\xe9")

    assert counted(raw).first_user_prompt == "caf\ufffd today"


def test_a_line_that_is_too_long_is_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"a\n" + b"b" * 50 + b"\ncc\n" + b"d" * 50)

    assert list(lines(path, longest=10)) == [b"a\n", b"cc\n"]


def test_the_window_takes_what_overlaps_and_what_has_turns_enough(tmp_path: Path) -> None:
    within = window("3h", "", NOW)

    def at(hours: float) -> str:
        return (NOW - timedelta(hours=hours)).isoformat()

    laid_out(tmp_path, "-a-Shop", "over", [record("user", "x", at(4)), record("user", "y", at(2.9))])
    laid_out(tmp_path, "-a-Shop", "before", [record("user", "x", at(4)), record("user", "y", at(3.1))])
    laid_out(tmp_path, "-a-Shop", "short", [record("user", "x", at(1))])
    laid_out(tmp_path, "-a-Other", "elsewhere", [record("user", "x", at(2)), record("user", "y", at(1))])
    (tmp_path / "-a-Shop" / "deeper").mkdir()
    (tmp_path / "-a-Shop" / "deeper" / "no.jsonl").write_bytes(record("user", "x", at(1)))
    (tmp_path / "-a-Shop" / "linked.jsonl").symlink_to(tmp_path / "-a-Other" / "elsewhere.jsonl")

    made = extracted(tmp_path, within, Filter(project="shop", min_turns=2), unexpected)

    assert (made.sessions_scanned, [each.session_id for each in made.sessions]) == (3, ["over"])


def test_a_file_last_written_before_the_window_is_not_opened(tmp_path: Path) -> None:
    laid_out(tmp_path, "p", "new", [record("user", "x")])

    assert extracted(tmp_path, window("2030-01-01", "2030-01-02", NOW), Filter(), unexpected).sessions_scanned == 0


def test_an_unreadable_file_is_told_and_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = laid_out(tmp_path, "p", "s", [record("user", "x")])
    told: list[Path] = []

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError

    monkeypatch.setattr(Path, "open", refuse)
    assert window("2w", "", NOW).hours == window("14d", "", NOW).hours == 14 * 24
    made = extracted(tmp_path, window("2d", "", NOW), Filter(min_turns=0), told.append)

    assert (told, made.sessions) == ([path], ())


def test_a_file_whose_name_is_no_text_is_told_and_left_out(tmp_path: Path) -> None:
    laid_out(tmp_path, "p", "good", [record("user", "x")])
    odd = Path(os.fsdecode(os.fsencode(tmp_path / "p") + b"/\xff.jsonl"))
    odd.write_bytes(record("user", "x"))
    told: list[Path] = []
    found = extracted(tmp_path, window("26h", "", NOW), Filter(min_turns=0), told.append)

    assert [item.session_id for item in found.sessions] == ["good"]
    assert told == [odd]


def test_no_folder_is_said(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="no folder of transcripts"):
        extracted(tmp_path / "none", window("1h", "", NOW), Filter(), unexpected)


@pytest.mark.parametrize(
    ("since", "until"), [("yesterday", ""), ("1h", "2h"), ("1h", "1h"), ("2026-11-22", ""), ("999999999d", "")]
)
def test_a_window_that_makes_no_sense_is_refused(since: str, until: str) -> None:
    with pytest.raises(Invalid):
        window(since, until, NOW)


def test_a_bundle_reads_back_as_what_it_was() -> None:
    made = bundle([counted(record("user", "x"))], window("24h", "", NOW), Filter(min_turns=0), 1)

    assert read_bundle(made.model_dump_json().encode()) == made


@pytest.mark.parametrize("raw", [b"", b"[]", b'{"sessions":[{"session_id":"x"}]}', b'{"sessions":3}'])
def test_what_is_no_bundle_is_refused(raw: bytes) -> None:
    with pytest.raises(Invalid, match=r"^bundle"):
        read_bundle(raw)


@pytest.mark.parametrize("raw", [b"", b"\n"])
def test_an_extract_that_failed_gives_an_empty_bundle_and_that_is_said(raw: bytes) -> None:
    with pytest.raises(Invalid, match=r"bundle: is empty: give the output of `openbrain vault extract`"):
        read_bundle(raw)
