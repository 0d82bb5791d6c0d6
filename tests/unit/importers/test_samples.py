"""The sample files: each structure is read as intended."""

from pathlib import Path

import pytest

from openbrain.domain.events.submission import Submission
from openbrain.domain.memory import MemoryType, Scope
from openbrain_cli.importers.found_memory import TAG, FoundMemory, Scan
from openbrain_cli.importers.locations.scanning import Client, look
from tests.support.cli.memory_samples import homes, lay_out

SHOP = "git.example.org/acme/shop/"
MEMORY = "projects/~-src-shop/memory/"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return lay_out(tmp_path_factory.mktemp("home"))


@pytest.fixture(scope="module")
def scan(home: Path) -> Scan:
    return look([], homes(home))


def one(scan: Scan, path: str, heading: str = "") -> FoundMemory:
    found = [each for each in scan.found if (each.path, each.heading) == (path, heading)]
    assert len(found) == 1, [each.key for each in scan.found]
    return found[0]


def headings(scan: Scan, path: str) -> list[str]:
    return [each.heading for each in scan.found if each.path == path]


def test_feedback_is_a_convention_with_its_reason_its_links_and_its_time(scan: Scan) -> None:
    found = one(scan, f"{MEMORY}feedback_terse-answers.md")

    assert found.type is MemoryType.CONVENTION
    assert found.content.startswith("feedback terse answers\n\nAda wants answers without a summary at the end\n\nStop")
    assert "**Why:**" in found.content
    assert "**How to apply:**" in found.content
    assert found.details == {"origin_session": "3f1c9a52-6c1b-4a0e-9d6e-0b7f5f0f4d11", "links": ["user_role"]}
    assert str(found.occurred_at) == "2026-09-14 08:21:37.512000+00:00"
    assert (found.project, found.scope, found.confidence) == ("shop", Scope.PROJECT, 0.7)
    assert found.tags == ("feedback terse answers", TAG)


@pytest.mark.parametrize(
    ("file", "type_", "scope", "project"),
    [
        ("user_role.md", MemoryType.FACT, Scope.SHARED, ""),
        ("project_rounding.md", MemoryType.DECISION, Scope.PROJECT, "shop"),
        ("reference_dashboards.md", MemoryType.DOCUMENTATION, Scope.PROJECT, "shop"),
        ("deploy-notes.md", MemoryType.CONTEXT, Scope.PROJECT, "shop"),
    ],
)
def test_topic_types_old_shape_and_new(scan: Scan, file: str, type_: MemoryType, scope: Scope, project: str) -> None:
    found = one(scan, f"{MEMORY}{file}")

    assert (found.type, found.scope, found.project) == (type_, scope, project)


def test_a_topic_without_frontmatter_is_cut_at_its_headings(scan: Scan) -> None:
    assert headings(scan, f"{MEMORY}debugging.md") == [
        "Webhook signatures fail after midnight UTC",
        'Orders stuck in "authorised"',
    ]


def test_an_index_beside_topics_is_left_out_but_not_its_notes(scan: Scan) -> None:
    assert headings(scan, f"{MEMORY}MEMORY.md") == []
    assert headings(scan, "projects/~-src-legacy/memory/MEMORY.md") == ["Before you touch anything"]


def test_memory_md_alone_is_kept_whole(scan: Scan) -> None:
    path = "projects/~-src-my-app-api/memory/MEMORY.md"

    assert headings(scan, path) == [
        "",
        "Commands",
        "Gotchas",
        "Mobile clients",
        "Architecture overview",
        "Gotchas (2)",
    ]
    assert one(scan, path).content.startswith("The API serves the mobile app")
    assert one(scan, path, "Gotchas (2)").content.startswith("Gotchas\n\nThe second list")
    assert one(scan, path, "Commands").project == "my-app-api"
    assert "# start the database first" in one(scan, path, "Commands").content


def test_frontmatter_that_is_almost_yaml_is_read_and_broken_one_is_text_and_reported(scan: Scan) -> None:
    legacy = "projects/~-src-legacy/memory/"

    assert one(scan, f"{legacy}runbook.md").content.startswith("Runbook: nightly batch\n\nRestarting: stop cron")
    assert headings(scan, f"{legacy}half-written.md") == ["", "Half written"]
    reasons = [note.reason for note in scan.notes if note.path.endswith("half-written.md")]
    assert len(reasons) == 1
    assert reasons[0].startswith("line 4: the frontmatter can't be read")


def test_sub_agents_of_a_person_and_of_a_project(scan: Scan) -> None:
    assert headings(scan, "agent-memory/reviewer/flaky-patterns.md") == ["Sleeps instead of conditions", "Shared ports"]
    expert = one(scan, f"{SHOP}.claude/agent-memory/db-expert/MEMORY.md", "Ledger tables")
    local = one(scan, f"{SHOP}.claude/agent-memory-local/scratch/MEMORY.md", "Scratch")
    assert (expert.details["agent"], expert.project) == ("db-expert", "shop")
    assert local.tags == ("scratch", TAG)


def test_the_folder_that_settings_name(scan: Scan) -> None:
    assert one(scan, "autoMemoryDirectory/MEMORY.md", "Laptop").scope is Scope.SHARED


def test_instructions_of_a_person_hold_everywhere(scan: Scan) -> None:
    assert headings(scan, "user/CLAUDE.md") == ["", "Working with me", "Git"]
    assert one(scan, ".codex/AGENTS.md", "Personal defaults").scope is Scope.SHARED
    rule = one(scan, "user/rules/python.md", "Imports")
    assert rule.details == {"paths": ["**/*.py", "src/**/*.{pyi,toml}"]}
    assert rule.content.startswith("Imports\n\nApplies to: **/*.py, src/**/*.{pyi,toml}\n\nAbsolute")


def test_instructions_of_a_project(scan: Scan) -> None:
    assert headings(scan, f"{SHOP}CLAUDE.md") == ["Shop", "Build and test", "Code style"]
    assert one(scan, f"{SHOP}CLAUDE.md", "Build and test").type is MemoryType.PROCEDURE
    assert one(scan, f"{SHOP}CLAUDE.md", "Code style").type is MemoryType.CONVENTION
    assert one(scan, f"{SHOP}CLAUDE.local.md", "Sandbox").project == "shop"
    assert one(scan, f"{SHOP}.claude/rules/api.md", "API rules").details["paths"][0] == "services/api/**/*.py"
    assert "Applies to: services/api/" in one(scan, f"{SHOP}services/api/AGENTS.md", "API service").content
    assert one(scan, f"{SHOP}AGENTS.override.md", "Freeze").tags == ("override", TAG)


def test_imports_are_followed_inside_the_project_only(scan: Scan) -> None:
    assert headings(scan, f"{SHOP}docs/testing.md") == ["Testing"]
    reasons = [note.reason for note in scan.notes if note.path.endswith("shop/CLAUDE.md")]
    assert reasons == [
        "line 3: what it imports is not a text page, left out",
        "line 4: what it imports is not there",
        "line 4: what it imports is not there",
    ]


@pytest.mark.parametrize("client", [Client.CLAUDE, Client.AGENTS])
def test_one_client_alone(home: Path, scan: Scan, client: Client) -> None:
    only = look([], homes(home), client)

    assert only.found
    assert only.found == tuple(each for each in scan.found if each.client == client)


def test_every_one_of_them_is_a_memory_that_the_api_takes(scan: Scan) -> None:
    for found in scan.found:
        Submission.model_validate(found.offer())


def test_a_file_is_the_same_one_from_wherever_it_is_reached(home: Path, scan: Scan) -> None:
    known = {each.key: each for each in scan.found}
    for path in (
        home / ".claude",
        home / ".claude" / "projects",
        home / ".claude" / "projects" / "-home-ada-src-shop",
        home / ".claude" / "projects" / "-home-ada-src-shop" / "memory" / "debugging.md",
        home / ".claude" / "agent-memory" / "reviewer",
        home / ".claude" / "CLAUDE.md",
        home / ".codex",
        home / ".codex" / "AGENTS.md",
        home / "src" / "shop",
        home / "src",
        home / "src" / "shop" / "services",
        home / "src" / "shop" / "AGENTS.md",
        home / "src" / "shop" / ".claude" / "agent-memory" / "db-expert",
        home,
    ):
        found = look([path], homes(home)).found
        assert found, path
        assert all(known.get(each.key) == each for each in found), path


def test_the_same_files_under_another_home_are_the_same_memories(scan: Scan, tmp_path: Path) -> None:
    other = look([], homes(lay_out(tmp_path / "Users" / "ada")))

    assert {each.key: each.digest for each in other.found} == {each.key: each.digest for each in scan.found}
