"""Files that are not notes are reported and skipped, and never end an import."""

import os
from pathlib import Path

from openbrain.domain import limits
from openbrain.domain.events.submission import Submission
from openbrain_cli.importers.file_reading import MAX_BYTES
from openbrain_cli.importers.found_memory import FoundMemory, Scan
from openbrain_cli.importers.locations.scanning import Homes, look

FOLDER = ".claude/projects/-home-ada-x/memory"


def scan_of(home: Path, **files: bytes | str) -> Scan:
    """Scan a memory folder with these files; `__` in a name stands for a dot."""
    folder = home / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        path = folder / name.replace("__", ".")
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return seen(home)


def seen(home: Path) -> Scan:
    return look([home], Homes(home=home, claude=home / ".claude", here=home))


def reason(scan: Scan, name: str) -> str:
    return next(note.reason for note in scan.notes if note.path.endswith(name))


def test_what_is_no_text_is_skipped_and_told_without_its_content(tmp_path: Path) -> None:
    found = scan_of(
        tmp_path,
        good__md="# Good\nkept",
        binary__md=b"# x\n\0secret",
        latin__md="# x\nok\nGr\xfc\xdfe".encode("latin-1"),
        huge__md=b"# x\n" + b"secret " * (MAX_BYTES // 7 + 1),
    )

    assert [each.heading for each in found.found] == ["Good"]
    assert reason(found, "binary.md") == "is binary, not text"
    assert reason(found, "latin.md") == "is not UTF-8 text (line 3)"
    assert reason(found, "huge.md") == "is larger than 1024 KiB"
    assert len(found.unread) == 3


def test_links_out_of_the_folder_are_not_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside.md"
    outside.write_text("# Secret\nof someone else")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "a.md").write_text("# Secret\nelse")
    folder = tmp_path / "home" / FOLDER
    folder.mkdir(parents=True)
    (folder / "kept.md").write_text("# SpilledText\ntext")
    (folder / "inside.md").symlink_to(folder / "kept.md")
    (folder / "out.md").symlink_to(outside)
    (folder / "gone.md").symlink_to(tmp_path / "nowhere.md")
    (folder / "round.md").symlink_to(folder / "round.md")
    (folder / "folder").symlink_to(tmp_path / "elsewhere")
    found = seen(tmp_path / "home")

    assert {each.heading for each in found.found} == {"SpilledText"}
    assert reason(found, "out.md") == "is a link out of its folder"
    assert "can't be read" in reason(found, "gone.md")
    assert reason(found, "round.md")
    assert reason(found, "folder") == "is a linked folder: name it to import it"


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    (tmp_path / FOLDER).mkdir(parents=True)
    os.mkfifo(tmp_path / FOLDER / "pipe.md")

    assert reason(seen(tmp_path), "pipe.md") == "is not a file"


def test_whatever_a_page_holds_the_api_takes_it(tmp_path: Path) -> None:
    long = "\n\n".join(f"paragraph {number} " + "x" * 900 for number in range(200))
    title = "t" * 5000
    found = scan_of(
        tmp_path,
        long__md=f"# Long\n{long}",
        control__md="# Bell \x07\x1b[31mred\x1b[0m\nform\x0cfeed \x7f \x9b31m",
        title__md=f"# {title}\nbody",
        meta__md=f"---\nname: '{'n' * 9000}'\ntype: feedback\noriginSessionId: '\x9b{'s' * 9000}'\n---\n"
        + " ".join(f"[[link {number} {'l' * 90}]]" for number in range(300)),
    )

    for each in found.found:
        Submission.model_validate(each.offer())
        assert len(each.source) <= limits.SOURCE_CHARS
    parts = [each for each in found.found if each.path.endswith("long.md")]
    assert len(parts) > 1
    assert [each.heading for each in parts][:2] == ["Long", "Long (2)"]
    kept = " ".join(" ".join(each.content.split()) for each in parts)
    assert all(f"paragraph {number} " in kept for number in range(200))


def test_names_are_made_fit_to_be_sources(tmp_path: Path) -> None:
    folder = tmp_path / FOLDER
    folder.mkdir(parents=True)
    names = [
        b"caf\xc3\xa9.md",
        b"cafe\xcc\x81 2.md",
        b"bad\xff.md",
        b"new\nline.md",
        b"csi\xc2\x9b31m.md",
        b"d" * 240 + b".md",
    ]
    for name in names:
        (Path(os.fsdecode(os.fsencode(folder) + b"/" + name))).write_text("# H\nx " + repr(name))
    found = seen(tmp_path).found

    assert len(found) == len(names)
    for each in found:
        Submission.model_validate(each.offer())
    assert {each.path.rpartition("/")[2] for each in found} >= {"café.md", "café 2.md", "new line.md"}


def test_sources_differ_where_places_differ(tmp_path: Path) -> None:
    found = scan_of(tmp_path, **{f"{'d' * 200}{number}__md": "# H\nx" for number in range(5)}).found

    assert len({each.source for each in found}) == 5


def test_projects_of_projects_are_found_each_as_its_own(tmp_path: Path) -> None:
    for name in ("one", "two", "two/vendor/dep", "two/node_modules/dep", "two/sub"):
        (tmp_path / "src" / name).mkdir(parents=True)
        (tmp_path / "src" / name / "AGENTS.md").write_text(f"# Agents\nof {name}")
    for name in ("one", "two", "two/sub"):
        (tmp_path / "src" / name / ".git").mkdir()
    found = look([tmp_path / "src"], Homes(home=tmp_path, claude=tmp_path / ".claude", here=tmp_path)).found

    assert sorted((each.project, each.path) for each in found) == [
        ("one", "~/src/one/AGENTS.md"),
        ("sub", "~/src/two/sub/AGENTS.md"),
        ("two", "~/src/two/AGENTS.md"),
    ]


def test_imports_go_round_once_and_only_so_deep(tmp_path: Path) -> None:
    root = tmp_path / "src"
    root.mkdir()
    (root / ".git").mkdir()
    (root / "CLAUDE.md").write_text("# Top\nsee @a1.md and @CLAUDE.md")
    for number in range(1, 9):
        (root / f"a{number}.md").write_text(f"# A{number}\ntext\n@a{number + 1}.md\n@CLAUDE.md\n")
    scan = look([root], Homes(home=tmp_path, claude=tmp_path / ".claude", here=root))

    assert [each.heading for each in scan.found] == ["Top", "A1", "A2", "A3", "A4", "A5"]
    assert [note.reason for note in scan.notes] == ["line 3: imports are followed 5 deep, not further"]


def test_a_page_that_only_imports_is_no_memory(tmp_path: Path) -> None:
    (tmp_path / "CLAUDE.md").write_text("@AGENTS.md\n")
    (tmp_path / "AGENTS.md").write_text("# Agents\ntext")
    found: tuple[FoundMemory, ...] = look([tmp_path], Homes(home=tmp_path, claude=tmp_path / "c", here=tmp_path)).found

    assert {(each.client, each.heading) for each in found} == {("claude", "Agents"), ("agents", "Agents")}


def test_an_import_from_outside_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "p").mkdir()
    (tmp_path / "secret.md").write_text("# Secret\nx")
    (tmp_path / "p" / "CLAUDE.md").write_text("# P\n@../secret.md and @~/secret.md")
    scan = look([tmp_path / "p"], Homes(home=tmp_path, claude=tmp_path / "c", here=tmp_path))

    assert [each.heading for each in scan.found] == ["P"]
    assert {note.reason for note in scan.notes} == {"line 2: imports from outside its folder, left out"}
