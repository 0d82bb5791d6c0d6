"""update, restore and history."""

import json as json_module
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from openbrain.domain.errors import Invalid
from openbrain_cli.lazy_commands import command
from openbrain_cli.memories.display.short_ids import whole_id
from openbrain_cli.memories.remember import Confidence, Hours, MemoryId, Reason, Source, read_text
from openbrain_cli.options import AsJson, Session, Speaking, Wait, given
from openbrain_cli.output import as_json, say

if TYPE_CHECKING:
    from openbrain.client import OpenBrain
    from openbrain.contract.brain.memories import MemoryAnswer, MemoryDetail

NewText = Annotated[str | None, typer.Option("--content", help="New text; - reads standard input.")]
NewKind = Annotated[str | None, typer.Option("--type", help="fact, decision, observation, bug ...")]
NewTitle = Annotated[str | None, typer.Option("--title", help="New title; '' for none.")]
NewAliases = Annotated[list[str] | None, typer.Option("--alias", help="Replaces its other names; repeatable.")]
NewTags = Annotated[list[str] | None, typer.Option("--tag", help="Replaces its tags; repeatable.")]
NoTags = Annotated[bool, typer.Option("--no-tags", help="Remove its tags.")]
NewMetadata = Annotated[str | None, typer.Option("--metadata", help="Replaces its metadata: a JSON object.")]
NewOrg = Annotated[str | None, typer.Option("--org", help="Move it to this org; '' for none.")]
NewProject = Annotated[str | None, typer.Option("--project", help="Move it to this project; '' for none.")]
NewScope = Annotated[str | None, typer.Option("--memory-scope", help="Who sees it: agent, project, shared, session.")]
NewAgent = Annotated[str | None, typer.Option("--to-agent", help="Agent that it belongs to from now on.")]
Lasts = Annotated[bool, typer.Option("--no-expiry", help="Remove its expiry.")]
Confirm = Annotated[
    bool, typer.Option("--confirm", help="It is still true: its confidence starts to fade again from now on.")
]
IfVersion = Annotated[
    int | None, typer.Option("--if-version", min=1, help="Only if this is its current version, as `show` prints it.")
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Requested changes."""

    content: NewText = None
    title: NewTitle = None
    alias: NewAliases = None
    type: NewKind = None
    tag: NewTags = None
    no_tags: NoTags = False
    metadata: NewMetadata = None
    confidence: Confidence = None
    source: Source = None
    org: NewOrg = None
    project: NewProject = None
    memory_scope: NewScope = None
    to_agent: NewAgent = None
    expires_in: Hours = None
    no_expiry: Lasts = False
    confirm: Confirm = False

    def changes(self) -> dict[str, Any]:
        if self.tag and self.no_tags:
            raise Invalid("tags", "give --tag or --no-tags, not both")
        changes = given(
            content=None if self.content is None else read_text(self.content),
            aliases=self.alias,
            type=self.type,
            tags=self.tag,
            metadata=None if self.metadata is None else _object(self.metadata),
            confidence=self.confidence,
            source=self.source,
            memory_scope=self.memory_scope,
            agent_id=self.to_agent,
            expires_in=self.expires_in,
        )
        emptied = {"title": self.title, "org": self.org, "project": self.project}
        changes |= {name: value for name, value in emptied.items() if value is not None}
        if self.no_tags:
            changes["tags"] = []
        if self.no_expiry:
            changes["expires_at"] = None
        if self.confirm:
            changes["confirm"] = True
        return changes


def _object(text: str) -> dict[str, Any]:
    try:
        parsed = json_module.loads(text)
    except json_module.JSONDecodeError:
        parsed = None
    if not isinstance(parsed, dict):
        raise Invalid("metadata", """must be a JSON object, as in '{"ticket": 7}'""")
    return parsed


@command(
    "openbrain update 0198f3a2-5c1e-7b6d-9a55-0d4c3b2a1f00 --tag cache --tag tenants --confidence 0.9",
    "openbrain update 0198f3a2-5c1e-7b6d-9a55-0d4c3b2a1f00 --content - --if-version 3 < new.txt",
)
def update(
    memory_id: MemoryId,
    *,
    wanted: Wanted,
    to: Speaking,
    if_version: IfVersion = None,
    session: Session = "",
    wait: Wait = 0,
    json: AsJson = False,
) -> None:
    """Change one memory; fields that are not given stay unchanged."""
    changes = wanted.changes()
    tag = "" if if_version is None else f'"{if_version}"'

    async def changing(brain: "OpenBrain") -> "MemoryAnswer":
        whole = await whole_id(brain, memory_id, session_id=session)
        return await brain.update(whole, session_id=session, wait=wait, if_match=tag, **changes)

    changed = to.ask(changing)
    as_json(changed) if json else print(f"{changed.id}  is version {changed.version} now")


@command("openbrain restore 0198f3a2-5c1e-7b6d-9a55-0d4c3b2a1f00 --reason 'forgotten by mistake'")
def restore(
    memory_id: MemoryId,
    *,
    to: Speaking,
    reason: Reason = "",
    session: Session = "",
    wait: Wait = 0,
    json: AsJson = False,
) -> None:
    """Restore a memory that was forgotten, archived or superseded, or has expired."""

    async def restoring(brain: "OpenBrain") -> "MemoryAnswer":
        whole = await whole_id(brain, memory_id, session_id=session)
        return await brain.restore(whole, reason=reason, session_id=session, wait=wait)

    back = to.ask(restoring)
    as_json(back) if json else print(f"{back.id}  {'is back and found' if back.indexed else 'is back'}")


@command("openbrain history 0198f3a2-5c1e-7b6d-9a55-0d4c3b2a1f00")
def history(memory_id: MemoryId, to: Speaking, session: Session = "", json: AsJson = False) -> None:
    """Show the history of one memory: when, what, who and why."""
    from openbrain_cli.memories.display import rendering

    async def ask_for(brain: "OpenBrain") -> "MemoryDetail":
        return await brain.memory_whole(await whole_id(brain, memory_id, session_id=session), session_id=session)

    memory = to.ask(ask_for)
    lines = memory.history or ()
    if json:
        as_json({"id": memory.id, "history": lines, "lineage": memory.lineage})
    elif lines:
        rendering.history(lines)
        if memory.lineage:
            rendering.lineage(memory.lineage)
    else:
        say("it has no history")
