"""What each kind of file is imported as, as docs/reference/importers.md says."""

from pathlib import Path

import pytest

from openbrain.domain.memory import MemoryType, Scope
from openbrain_cli.importers.found_memory import TAG, FoundMemory, Scan
from openbrain_cli.importers.locations.scanning import look
from tests.support.cli.import_samples import ALL, homes, lay_out


def scan_of(client: str, home: Path) -> Scan:
    sample = next(each for each in ALL if each.client == client)
    return look([lay_out(sample, home)], homes(home))


def one(scan: Scan, path: str, heading: str = "") -> FoundMemory:
    (found,) = [each for each in scan.found if (each.path, each.heading) == (path, heading)]
    return found


def test_codex_leaves_its_raw_material_alone(tmp_path: Path) -> None:
    scan = scan_of("codex", tmp_path)

    assert {each.path for each in scan.found} == {".codex/memories/MEMORY.md", ".codex/memories/memory_summary.md"}
    assert not any("v1" in each.content for each in scan.found)
    profile = one(scan, ".codex/memories/memory_summary.md", "User profile")
    assert (profile.type, profile.scope, profile.tags) == (MemoryType.CONTEXT, Scope.SHARED, ("summary", TAG))


def test_the_whole_of_codex_is_its_instructions_and_its_memories(tmp_path: Path) -> None:
    scan_of("codex", tmp_path)

    assert {each.client for each in look([tmp_path / ".codex"], homes(tmp_path)).found} == {"agents", "codex"}


def test_cursor_rules_say_what_they_are_for(tmp_path: Path) -> None:
    scan = scan_of("cursor", tmp_path)
    api = one(scan, "~/shop/.cursor/rules/api.mdc")

    assert api.details == {
        "paths": ["services/**/*.ts", "packages/rpc/**/*.{ts,tsx}"],
        "description": "RPC services: how a new one is laid out",
    }
    assert (api.type, api.project, api.tags) == (MemoryType.CONVENTION, "shop", ("api", TAG))
    assert api.content.startswith("RPC services: how a new one is laid out\n\nApplies to: services/**/*.ts, packages")
    assert one(scan, "~/shop/.cursor/rules/broken.mdc", "Broken").content.endswith("and still it is read.")
    assert scan.notes == ()


def test_gemini_imports_pages_of_its_project_only(tmp_path: Path) -> None:
    (tmp_path / "outside.md").write_text("# Outside\nsecret")
    scan = scan_of("gemini", tmp_path)

    assert one(scan, "~/reader/docs/style.md", "Style guide")
    assert [note.reason for note in scan.notes] == ["line 3: imports from outside its folder, left out"]
    assert "Release notes" in one(scan, "~/reader/GEMINI.md", "Gemini Added Memories").content


def test_windsurf_and_copilot_rules_are_for_their_globs(tmp_path: Path) -> None:
    rule = one(scan_of("windsurf", tmp_path), "~/site/.windsurf/rules/typescript.md", "TypeScript")
    tests = one(scan_of("copilot", tmp_path), "~/service/.github/instructions/tests.instructions.md", "Test style")

    assert rule.details == {"paths": ["**/*.ts", "**/*.tsx"]}
    assert tests.details == {"paths": ["src/test/**/*.java", "**/*IT.java"]}
    assert tests.tags == ("tests", TAG)


def test_openclaw_days_are_dated_and_its_instructions_are_not_memories(tmp_path: Path) -> None:
    scan = scan_of("openclaw", tmp_path)
    day = one(scan, "openclaw/workspace/memory/2026-08-14.md", "Morning")
    papers = one(scan, "openclaw/workspace/memory/2026-08-15-tax-papers.md", "Session: 2026-08-15 09:12:00 UTC")

    assert str(day.occurred_at) == "2026-08-14 00:00:00+00:00"
    assert day.content.startswith("2026-08-14\n\nMorning\n\nRestarted")
    assert day.details == {"links": ["Certificates"]}
    assert papers.tags == ("daily notes", "tax papers", TAG)
    assert one(scan, "openclaw/workspace/MEMORY.md", "Decisions").type is MemoryType.DECISION
    assert one(scan, "openclaw/workspace/USER.md", "Preferences").type is MemoryType.FACT
    assert one(scan, "openclaw/workspace/DREAMS.md", "2026-08-15").confidence == 0.5
    assert not any("not imported" in each.content.lower() for each in scan.found)


def test_workspaces_of_other_agents_say_whose_they_are(tmp_path: Path) -> None:
    folder = tmp_path / ".openclaw" / "workspace-ada"
    (folder / "memory").mkdir(parents=True)
    (folder / "memory" / "2026-01-02.md").write_text("text")
    (found,) = look([tmp_path / ".openclaw"], homes(tmp_path)).found

    assert (found.path, found.details, found.tags) == (
        "openclaw/workspace-ada/memory/2026-01-02.md",
        {"agent": "ada"},
        ("daily notes", "ada", TAG),
    )


def test_hermes_entries_go_by_their_first_words(tmp_path: Path) -> None:
    scan = scan_of("hermes", tmp_path)

    assert [each.heading for each in scan.found if each.path == "hermes/MEMORY.md"] == [
        "This machine runs Debian 13 with",
        "Project at ~/src/atlas: build with `just",
        "The staging database is called preprod",
    ]
    atlas = scan.found[1].content
    assert atlas == "Project at ~/src/atlas: build with `just build`,\ntests with `just test`; both need the VPN"
    assert {each.type for each in scan.found if each.path == "hermes/USER.md"} == {MemoryType.FACT}


def test_a_profile_of_hermes_is_an_agent(tmp_path: Path) -> None:
    folder = tmp_path / ".hermes" / "profiles" / "night" / "memories"
    folder.mkdir(parents=True)
    (folder / "MEMORY.md").write_text("one\n§\ntwo § not a border")
    found = look([tmp_path / ".hermes"], homes(tmp_path)).found

    assert [(each.path, each.content) for each in found] == [
        ("hermes/profiles/night/MEMORY.md", "one"),
        ("hermes/profiles/night/MEMORY.md", "two § not a border"),
    ]
    assert found[0].details == {"agent": "night"}


def test_notes_keep_links_tags_dates_and_properties(tmp_path: Path) -> None:
    scan = scan_of("obsidian", tmp_path)
    daily = one(scan, "~/vault/Daily/2026-07-02.md")
    budget = one(scan, "~/vault/Projects/Harbour.md", "Budget")

    assert daily.details == {"note": "2026-07-02", "links": ["Ines Prado", "Projects/Harbour", "Harbour plan.png"]}
    assert "[[Ines Prado|Ines]]" in daily.content
    assert (daily.tags, str(daily.occurred_at)[:10]) == (("meeting", "harbour/budget", TAG), "2026-07-02")
    assert budget.tags == ("project", "harbour", TAG)
    assert str(budget.occurred_at) == "2026-06-30 09:00:00+02:00"
    assert budget.details["properties"] == {"aliases": ["Harbor", "HBR"], "status": "active", "rating": 4}
    assert "links" not in one(scan, "~/vault/Projects/Harbour.md", "Code").details
    assert not any("Deleted" in each.content for each in scan.found)


def test_a_changed_property_refiles(tmp_path: Path) -> None:
    before = scan_of("obsidian", tmp_path)
    note = tmp_path / "vault" / "Projects" / "Harbour.md"
    note.write_text(note.read_text().replace("status: active", "status: done"))
    after = look([tmp_path / "vault"], homes(tmp_path))
    old, new = (one(scan, "~/vault/Projects/Harbour.md", "Budget") for scan in (before, after))

    assert old.content_digest == new.content_digest
    assert old.digest != new.digest


def test_plain_markdown(tmp_path: Path) -> None:
    scan = scan_of("markdown", tmp_path)
    restore = one(scan, "~/runbooks/deep/er/restore.markdown")

    assert (restore.type, restore.tags) == (MemoryType.PROCEDURE, ("backup", "on call", TAG))
    assert restore.content.startswith("Restore a backup\n\nStop the writer")
    assert one(scan, "~/runbooks/index.md").content == "index\n\nLoose text before any heading."
    assert "title: Broken" in one(scan, "~/runbooks/broken.md").content
    assert sorted(Path(note.path).name for note in scan.notes) == ["broken.md", "unclosed.md"]


def test_basic_memory_keeps_its_graph(tmp_path: Path) -> None:
    scan = scan_of("basic-memory", tmp_path)
    relations = one(scan, "~/notes/auth-design.md", "Relations")

    assert relations.details["relations"] == [
        {"type": "implements", "to": "API Security Requirements"},
        {"type": "depends_on", "to": "User Schema"},
        {"type": "relates_to", "to": "Session Management"},
    ]
    assert relations.type is MemoryType.DECISION
    assert one(scan, "~/notes/auth-design.md", "Observations").details["categories"] == ["decision", "constraint"]
    assert one(scan, "~/notes/user-schema.md").details["properties"] == {
        "type": "note",
        "permalink": "notes/user-schema",
    }


def test_chatgpt_messages_of_the_branch_that_was_shown_last(tmp_path: Path) -> None:
    scan = scan_of("chatgpt", tmp_path)
    (remembered,) = [each for each in scan.found if each.type is MemoryType.FACT]

    assert not any("thrown away" in each.content or "context updated" in each.content for each in scan.found)
    assert (remembered.content, remembered.tags) == ("User bakes at 2,400 m above sea level.", ("chatgpt memory", TAG))
    assert one(scan, "conversations/c-0002", "b1").content == "Which bridge is this?"
    assert one(scan, "conversations/c-0001", "n3").details == {"conversation": "Sourdough at altitude"}
    assert [note.reason for note in scan.notes] == ["1 entries are no conversations, left out"]


@pytest.mark.parametrize("client", ["mem0", "hindsight"])
def test_exports_go_by_their_ids_whichever_file_they_come_in(client: str, tmp_path: Path) -> None:
    scan = scan_of(client, tmp_path)
    (tmp_path / "memories.json").rename(tmp_path / "another name.json")

    assert look([tmp_path / "another name.json"], homes(tmp_path)).found == scan.found
    assert scan.covered == ((client, f"{client}/memories"),)


def test_a_page_of_an_export_is_not_all_of_it(tmp_path: Path) -> None:
    scan_of("mem0", tmp_path)
    file = tmp_path / "memories.json"
    file.write_text(file.read_text().replace('"next": null', '"next": "https://api.example.org/?page=2"'))

    assert look([file], homes(tmp_path)).covered == ()


def test_mem0_and_hindsight(tmp_path: Path) -> None:
    dev = scan_of("mem0", tmp_path).found[0]
    alice, bob = scan_of("hindsight", tmp_path).found

    assert (dev.content, dev.type, dev.tags) == ("Dev works as a senior engineer", MemoryType.FACT, ("work", TAG))
    assert str(dev.occurred_at) == "2026-02-26 08:21:37.512000-07:00"
    assert dev.details["record"]["metadata"] == {"type": "professional"}
    assert (alice.type, alice.tags, bob.type) == (MemoryType.FACT, ("team", TAG), MemoryType.OBSERVATION)
    assert alice.details["record"]["context"] == "stand-up"
