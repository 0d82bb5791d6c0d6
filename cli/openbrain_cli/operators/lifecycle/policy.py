"""policy: a workspace's rules for the lifecycle of its memories."""

import json as json_module
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from openbrain.domain.errors import Invalid, SetupError
from openbrain_cli.lazy_commands import command, new_app
from openbrain_cli.options import AsJson, Connection, file_text
from openbrain_cli.output import as_json, moment, say, table
from openbrain_cli.output import show as show_table

if TYPE_CHECKING:
    from openbrain.contract.admin.policies import PoliciesAnswer

app = new_app(
    no_args_is_help=True,
    help="Lifecycle jobs that run on a schedule, and legal holds. Needs an admin's key of the workspace.",
)
_EXAMPLE = {
    "policies": [
        {
            "name": "old-observations",
            "job": "prune",
            "schedule": "30 3 * * *",
            "body": {"type": "observation", "max_effective_confidence": 0.1, "dry_run": True},
        }
    ],
    "legal_hold": [],
    "retention": {"forgotten_days": None},
}
File = Annotated[
    Path | None,
    typer.Option("--file", help="Read it from here instead of an editor; - reads standard input.", allow_dash=True),
]


@app.command()
@command("openbrain policy show", "openbrain policy show --json > policy.json")
def show(to: Connection, json: AsJson = False) -> None:
    """Show the current policy document."""
    policies = to.ask(lambda brain: brain.policies())
    if json:
        as_json(_document(policies))
        return
    if policies.updated_at is None:
        say("no job is scheduled here, and there is no legal hold: openbrain policy edit")
        return
    as_json(_document(policies))
    say(f"by {policies.actor}, {moment(policies.updated_at)}")


@app.command()
@command("openbrain policy edit", "openbrain policy edit --file policy.json")
def edit(to: Connection, file: File = None, json: AsJson = False) -> None:
    """Change the policy document in an editor ($EDITOR), or read it from a file."""
    if file is None:
        policies = to.ask(lambda brain: brain.policies())
        before = _document(policies) if policies.updated_at is not None else _EXAMPLE
        with _edited(before, to.profile.editor) as given:
            if given == before:
                say("nothing was changed")
                return
            seen = f'"{policies.edition}"'
            stands = to.ask(lambda brain: brain.set_policies(given, if_match=seen))
    else:
        given = _parsed(file_text(file))
        stands = to.ask(lambda brain: brain.set_policies(given))
    if json:
        as_json(_document(stands))
    else:
        print(f"{len(stands.policies)} policies, {len(stands.legal_hold)} legal holds")


Show = Annotated[bool, typer.Option("--show", help="Has no effect; `policy edit` changes the days.")]


@command("openbrain retention", "openbrain retention --show --json")
def retention(to: Connection, show_days: Show = True, json: AsJson = False) -> None:  # noqa: ARG001 - accepted only
    """Show what this workspace removes after how many days, and who decided that. Needs an admin's key."""
    kept = to.ask(lambda brain: brain.retention())
    if json:
        as_json(kept)
        return
    rows = [(item.what, "ever" if item.days is None else f"{item.days} days", item.by) for item in kept.kept]
    show_table(table("what", "kept for", "by", rows=rows))
    if kept.held:
        say("a legal hold is active: what it covers stays")


def _document(policies: "PoliciesAnswer") -> dict[str, Any]:
    return policies.model_dump(mode="json", exclude={"actor", "updated_at", "edition"})


@contextmanager
def _edited(before: dict[str, Any], editor: list[str]) -> Iterator[dict[str, Any]]:
    """Let the user edit the document in a temporary file that only its owner can read; yield the result. The file stays
    if its text can't be used."""
    folder = Path(tempfile.mkdtemp(prefix="openbrain-"))
    file = folder / "policy.json"
    used = True
    try:
        file.write_text(json_module.dumps(before, indent=2) + "\n", encoding="utf-8")
        try:
            ended = subprocess.run([*editor, str(file)], check=False)
        except OSError as error:
            raise SetupError(f"the editor {editor[0]} can't be started ({error.strerror}): set EDITOR") from None
        if ended.returncode:
            raise Invalid("", f"the editor ended with {ended.returncode}: nothing was changed")
        used = False
        yield _parsed(file_text(file))
        used = True
    finally:
        if used:
            shutil.rmtree(folder, ignore_errors=True)
        else:
            say(f"your text is kept: correct it, then `openbrain policy edit --file {shlex.quote(str(file))}`")


def _parsed(text: str) -> dict[str, Any]:
    try:
        given = json_module.loads(text)
    except ValueError as error:
        raise Invalid("", f"this is no JSON ({error}): nothing was changed") from None
    if not isinstance(given, dict):
        raise Invalid("", "must be a JSON object, as `openbrain policy show` prints it")
    return given
