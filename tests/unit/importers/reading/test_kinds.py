"""Every kind of file is recognised by its structure, on any machine, and a bad neighbouring file never stops it."""

import os
from pathlib import Path

import pytest

from openbrain.domain.events.submission import Submission
from openbrain_cli.importers.execution.spill_file import SpillFile
from openbrain_cli.importers.file_reading import MAX_BYTES
from openbrain_cli.importers.found_memory import Scan
from openbrain_cli.importers.locations.scanning import Client, Seen, Wanted, gather, look, sources
from openbrain_cli.memories.transfer.export_file import is_export
from openbrain_cli.memories.transfer.foreign.locations import FORMATS
from tests.support.cli.import_samples import ALL, Sample, homes, lay_out

each_kind = pytest.mark.parametrize("sample", ALL, ids=[each.client for each in ALL])


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


def test_there_is_a_sample_of_every_kind() -> None:
    others = {Client.AUTO, Client.CLAUDE, Client.AGENTS}  # their samples are in samples/memories
    others |= {Client(name) for name in FORMATS}  # rows of tables: test_tables, test_foreign_stores

    assert {each.client for each in ALL} == set(Client) - others


@each_kind
def test_it_is_known_by_its_structure(sample: Sample, home: Path) -> None:
    seen: list[Seen] = []
    scan = gather(sources([lay_out(sample, home)], Wanted(homes=homes(home))), seen=seen.append)

    assert [(each.client, each.files, each.sections) for each in seen] == [
        (sample.client, sample.files, sample.sections)
    ]
    assert len({found.key for found in scan.found}) == sample.sections
    for found in scan.found:
        Submission.model_validate(found.offer())


@each_kind
def test_named_or_found_its_memories_are_the_same(sample: Sample, home: Path) -> None:
    path = lay_out(sample, home)
    found = look([path], homes(home)).found

    assert look([path], homes(home), Client(sample.client)).found == found
    known = {each.key: each for each in found}
    edited = look([sample.edited(home)], homes(home)).found
    assert edited
    assert all(known[each.key] == each for each in edited)


@each_kind
def test_another_client_finds_nothing_there(sample: Sample, home: Path) -> None:
    assert look([lay_out(sample, home)], homes(home), Client.AGENTS).found == ()


@each_kind
def test_on_another_machine_it_is_the_same(sample: Sample, home: Path, tmp_path: Path) -> None:
    other = tmp_path / "Users" / "someone"
    one, two = (look([lay_out(sample, each)], homes(each)) for each in (home, other))

    assert {each.key: each.digest for each in one.found} == {each.key: each.digest for each in two.found}
    assert one.covered == two.covered
    assert not any(str(home) in found.path for found in one.found)


@each_kind
def test_a_drawer_keeps_the_texts(sample: Sample, home: Path) -> None:
    path, wanted = lay_out(sample, home), Wanted(homes=homes(home))
    plain = gather(sources([path], wanted))
    with SpillFile() as spill_file:
        kept = gather(sources([path], wanted), put_away=spill_file.put)
        assert all(not each.content for each in kept.found)
        assert [each.offer() for each in kept.found] == [each.offer() for each in plain.found]
        assert [each.digest for each in kept.found] == [each.digest for each in plain.found]


@each_kind
def test_windows_line_ends_and_a_bom_change_nothing(sample: Sample, home: Path, tmp_path: Path) -> None:
    path, other = lay_out(sample, home), lay_out(sample, tmp_path / "windows")
    for each in [other] if other.is_file() else [each for each in other.rglob("*") if each.is_file()]:
        raw = each.read_bytes().removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n")
        each.write_bytes(b"\xef\xbb\xbf" + raw.replace(b"\n", b"\r\n"))

    contents = {found.key: found.content for found in look([path], homes(home)).found}
    assert {found.key: found.content for found in look([other], homes(tmp_path / "windows")).found} == contents


UGLY = {
    "is binary, not text": b"# Binary\n\0secret\n",
    "is not UTF-8 text (line 2)": "# Latin\nGr\xfc\xdfe an secret\n".encode("latin-1"),
    "is UTF-16 text: save it as UTF-8": "# Wide\nsecret\n".encode("utf-16"),
    "is larger than 1024 KiB": b"# Huge\n" + b"secret " * (MAX_BYTES // 6),
}
PAGES = [each for each in ALL if each.file.endswith((".md", ".mdc"))]


@pytest.mark.parametrize("sample", PAGES, ids=[each.client for each in PAGES])
@pytest.mark.parametrize("reason", UGLY)
def test_what_is_no_text_is_told_and_the_rest_is_taken(sample: Sample, reason: str, home: Path) -> None:
    path = lay_out(sample, home)
    before = look([path], homes(home))
    sample.edited(home).write_bytes(UGLY[reason])
    after = look([path], homes(home))

    assert [(note.path, note.reason) for note in after.notes if note not in before.notes] == [
        (str(sample.edited(home)), reason)
    ]
    place = place_of(before, sample)
    assert {place} == {path for _, path in after.unread}
    kept = {each.key for each in before.found if each.path != place}
    assert {each.key for each in after.found} >= kept if sample.client != "gemini" else True


def place_of(scan: Scan, sample: Sample) -> str:
    return next(each.path for each in scan.found if sample.before in each.content)


@pytest.mark.parametrize("sample", PAGES, ids=[each.client for each in PAGES])
def test_links_that_lead_out_are_not_followed(sample: Sample, home: Path, tmp_path: Path) -> None:
    path = lay_out(sample, home)
    (tmp_path / "outside.md").write_text("# Outside\nsecret of someone else")
    edited = sample.edited(home)
    edited.unlink()
    edited.symlink_to(tmp_path / "outside.md")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "a.md").write_text("# Elsewhere\nsecret")
    (edited.parent / "linked").symlink_to(tmp_path / "elsewhere")
    scan = look([path], homes(home))

    assert not any("secret" in each.content for each in scan.found)
    assert (str(edited), "is a link out of its folder") in [(note.path, note.reason) for note in scan.notes]


def test_a_pipe_that_is_named_is_not_waited_for(home: Path) -> None:
    pipe = home / "notes.md"
    os.mkfifo(pipe)

    assert not is_export(pipe)
    assert [note.reason for note in look([pipe], homes(home)).notes] == ["is not a file"]


@pytest.mark.parametrize("sample", PAGES, ids=[each.client for each in PAGES])
def test_empty_files_nested_folders_and_pipes_are_nothing_special(sample: Sample, home: Path) -> None:
    path = lay_out(sample, home)
    before = {each.key for each in look([path], homes(home)).found if sample.before not in each.content}
    edited = sample.edited(home)
    deep = edited.parent / "a" / "b" / "c" / "d"
    deep.mkdir(parents=True)
    (deep / f"deep{edited.suffix}").write_text("# Deep\ntext")
    (edited.parent / f"nothing{edited.suffix}").write_bytes(b"")
    (edited.parent / f"spaces{edited.suffix}").write_bytes(b"\xef\xbb\xbf\r\n \t\r\n")
    os.mkfifo(edited.parent / f"pipe{edited.suffix}")
    scan = look([path], homes(home))

    assert before <= {each.key for each in scan.found}
    assert {note.reason for note in scan.notes if note.path.endswith(f"pipe{edited.suffix}")} <= {"is not a file"}


def test_a_section_above_the_limit_is_cut_at_its_paragraphs_with_the_number_of_the_part(home: Path) -> None:
    paragraphs = [f"paragraph {number} " + "word " * 180 for number in range(120)]
    (home / "notes").mkdir()
    (home / "notes" / "long.md").write_text("# Long\n" + "\n\n".join(paragraphs))
    (home / "notes" / "fits.md").write_text("# Fits\n" + "x" * 49_000)
    found = look([home / "notes"], homes(home)).found
    parts = [each for each in found if each.path.endswith("long.md")]

    assert [(each.details["part"], each.details["parts"], each.heading) for each in parts] == [
        (1, 3, "Long"),
        (2, 3, "Long (2)"),
        (3, 3, "Long (3)"),
    ]
    assert all(each.content.split("\n\n")[-1].rstrip() in map(str.rstrip, paragraphs) for each in parts)
    assert sum(each.content.count("paragraph") for each in parts) == len(paragraphs)
    assert [len(each.content) for each in found if each.path.endswith("fits.md")] == [49_006]


def test_nothing_in_a_file_is_expanded(home: Path) -> None:
    written = "# T\n{{date}} <% tp.file %> $(touch pwned) `touch pwned` ${HOME} %PATH% !!python/object:os.system x"
    (home / "notes").mkdir()
    (home / "notes" / "t.md").write_text(f"---\na: !!python/object/apply:os.system ['touch pwned']\n---\n{written}")
    found = look([home / "notes"], homes(home)).found

    assert written.removeprefix("# T\n") in "\n".join(each.content for each in found)
    assert not list(home.rglob("pwned"))
    assert not Path("pwned").exists()
