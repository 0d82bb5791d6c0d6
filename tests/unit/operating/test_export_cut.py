"""An export file that was cut anywhere is reported as cut, and the export can be resumed."""

import asyncio
import errno
import gzip
import hashlib
import os
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from openbrain.client import OpenBrain
from openbrain.domain.errors import Invalid, SetupError, TryLater
from openbrain.domain.ids import uuid7
from openbrain.usecases.transfer.lines import Footer, parse_line
from openbrain.usecases.transfer.writing import as_line, footer_line, header_line, mark_line
from openbrain_cli.memories import export
from openbrain_cli.memories.transfer.download import PartFile, save
from openbrain_cli.memories.transfer.export_file import check, is_export, kind_of, parts

HEADER = header_line(export_id=uuid7(1), exported_at=1, workspace_id="w", whole=True, filters={})
LINES = [HEADER, as_line({"kind": "memory", "id": "a"}), mark_line("after-a"), as_line({"kind": "memory", "id": "b"})]
BODY = b"".join(LINES)
FOOTER = footer_line(memories=2, history=0, lineage=0, digest=hashlib.sha256(BODY).hexdigest())
WHOLE = BODY + FOOTER


async def arriving(part: bytes) -> AsyncIterator[bytes]:
    yield part


def test_a_cut_footer_is_told(tmp_path: Path) -> None:
    file = tmp_path / "cut.ndjson"
    told = {}
    for cut in range(len(BODY), len(WHOLE) + 1):
        file.write_bytes(WHOLE[:cut])
        told[cut] = check(file).problem

    # At most the final newline may be missing.
    assert [cut for cut, problem in told.items() if not problem] == [len(WHOLE) - 1, len(WHOLE)]


async def test_a_beginning_cut_anywhere_goes_on_after_its_last_mark(tmp_path: Path) -> None:
    marked = len(b"".join(LINES[:3]))
    for cut in range(len(BODY)):
        path = tmp_path / "all.ndjson.part"
        path.write_bytes(BODY[:cut])
        with closing(PartFile(path)) as file:
            cursor = file.resume()
            assert cursor == ("after-a" if cut >= marked else None)
            rest = HEADER + LINES[3] if cursor else BODY
            last = footer_line(memories=2, history=0, lineage=0, digest=hashlib.sha256(rest).hexdigest())
            await file.take(arriving(rest + last), lambda _: None)
            file.finish(tmp_path / "all.ndjson", packed=False)
        assert (tmp_path / "all.ndjson").read_bytes() == WHOLE


async def test_what_breaks_off_is_kept(tmp_path: Path) -> None:
    with closing(PartFile(tmp_path / "part")) as file:
        assert file.resume() is None
        with pytest.raises(TryLater, match="broke off"):
            await file.take(arriving(BODY), lambda _: None)
        assert file.counts["memories"] == 2


def test_a_footer_is_sent_with_and_without_its_line_end_but_not_cut(tmp_path: Path) -> None:
    file = tmp_path / "all.ndjson"
    ends = {}
    for cut in (1, 0, -1, -2, -20):
        file.write_bytes(WHOLE[: len(WHOLE) + cut])
        (part,) = parts(file)
        ends[cut] = FOOTER.rstrip() in part.body

    assert ends == {1: True, 0: True, -1: True, -2: False, -20: False}


def test_what_an_editor_puts_before_the_header_is_skipped(tmp_path: Path) -> None:
    file = tmp_path / "all.ndjson"
    for before in (b"\xef\xbb\xbf", b"\n", b"\xef\xbb\xbf\r\n\n"):
        for content in (before + WHOLE, gzip.compress(before + WHOLE)):
            file.write_bytes(content)
            assert (is_export(file), check(file).problem) == (True, "")
            assert [part.body.count(b"header") for part in parts(file)] == [1]


def test_a_packed_export_that_was_cut_before_its_first_line_is_told(tmp_path: Path) -> None:
    file = tmp_path / "all.gz"
    for cut in (9, 12, 30):
        file.write_bytes(gzip.compress(WHOLE)[:cut])
        assert is_export(file)
        with pytest.raises(Invalid, match="it was cut off; nothing of it can be read"):
            check(file)


def test_an_import_of_a_cut_file_has_an_end(tmp_path: Path) -> None:
    file = tmp_path / "all.ndjson"
    file.write_bytes(BODY[:-5])
    (part,) = parts(file, cut=True)

    assert [kind_of(line) for line in part.body.splitlines()] == ["header", "memory", "mark", "footer"]
    assert isinstance(parse_line(part.body.splitlines()[-1]), Footer)


async def test_a_file_that_can_not_be_written_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(**_: Any) -> AsyncIterator[bytes]:
        return arriving(WHOLE)

    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    brain = OpenBrain("http://localhost:1", "key")
    monkeypatch.setattr(brain, "export", nothing)
    with pytest.raises(SetupError, match=r"none/all\.ndjson\.part can't be written: No such file or directory"):
        await save(brain, tmp_path / "none" / "all.ndjson", {}, packed=False, progress=lambda _: None)
    monkeypatch.setattr(PartFile, "_write", full)
    with pytest.raises(SetupError, match=r"all\.ndjson can't be written: No space left on device"):
        await save(brain, tmp_path / "all.ndjson", {}, packed=False, progress=lambda _: None)


async def test_two_exports_at_once_do_not_write_into_one_file(tmp_path: Path) -> None:
    path, target = tmp_path / "all.ndjson.part", tmp_path / "all.ndjson"
    with closing(PartFile(path)) as first, closing(PartFile(path)) as second:
        first.resume()
        with pytest.raises(SetupError, match="another export writes"):
            second.resume()
        await first.take(arriving(WHOLE), lambda _: None)
        first.finish(target, packed=False)

    assert check(target).problem == ""
    with closing(PartFile(path)) as third:
        assert third.resume() is None


async def test_a_file_that_was_finished_meanwhile_is_not_written_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, target = tmp_path / "all.ndjson.part", tmp_path / "all.ndjson"
    opened = os.open

    def finished_meanwhile(*given: Any) -> int:
        descriptor = opened(*given)
        path.write_bytes(WHOLE)
        path.replace(target)
        return descriptor

    monkeypatch.setattr(os, "open", finished_meanwhile)
    with closing(PartFile(path)) as late, pytest.raises(SetupError, match="another export writes"):
        late.resume()
    assert target.read_bytes() == WHOLE


@pytest.mark.parametrize("content", [b"notes of a person\n", b'{"kind":"mark"}\n', b'{"kind":"header","a":1}\n', b"\0"])
def test_a_file_of_that_name_that_is_no_export_is_left_alone(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "all.ndjson.part"
    path.write_bytes(content)
    with closing(PartFile(path)) as file, pytest.raises(SetupError, match="no beginning of an export"):
        file.resume()

    assert path.read_bytes() == content


async def test_an_export_that_ends_while_it_is_packed_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, target = tmp_path / "all.ndjson.gz.part", tmp_path / "all.ndjson.gz"
    with closing(PartFile(path)) as file, monkeypatch.context() as patched:
        file.resume()
        await file.take(arriving(WHOLE), lambda _: None)
        patched.setattr(Path, "replace", ended)
        with pytest.raises(KeyboardInterrupt):
            file.finish(target, packed=True)
    with closing(PartFile(path)) as file:
        assert file.resume() == "after-a"
        rest = HEADER + LINES[3]
        last = footer_line(memories=1, history=0, lineage=0, digest=hashlib.sha256(rest).hexdigest())
        await file.take(arriving(rest + last), lambda _: None)
        file.finish(target, packed=True)

    assert check(target).problem == ""
    assert [*tmp_path.iterdir()] == [target]


class _Stopped:
    """A client whose export is interrupted."""

    async def export(self, **_: object) -> AsyncIterator[bytes]:
        yield BODY
        raise asyncio.CancelledError


async def test_an_interrupt_says_what_is_there(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    brain: Any = _Stopped()
    with pytest.raises(asyncio.CancelledError):
        await export._save(brain, tmp_path / "all.ndjson", {}, packed=False, quiet=True)
    saved = capfdbinary.readouterr()
    with pytest.raises(asyncio.CancelledError):
        await export._print(brain, {})
    printed = capfdbinary.readouterr()

    assert b"stopped: 2 memories are in all.ndjson.part, which is incomplete" in saved.err
    assert (tmp_path / "all.ndjson.part").read_bytes() == BODY
    assert (printed.out, b"stopped: what was printed is incomplete" in printed.err) == (BODY, True)


def ended(*_: object) -> None:
    raise KeyboardInterrupt
