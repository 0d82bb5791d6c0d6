"""refile and backfill-org: memories filed elsewhere, one by one. Stopped anywhere, the same command does the rest."""

import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any

import typer

from openbrain.domain import limits
from openbrain.domain.errors import Conflict, Forbidden, Invalid, NotFound
from openbrain_cli.lazy_commands import command
from openbrain_cli.options import AsJson, Narrowed, Speaking, given
from openbrain_cli.output import as_json, console, say
from openbrain_cli.system.shell import exit_codes

if TYPE_CHECKING:
    from openbrain.client import OpenBrain

ToOrg = Annotated[str | None, typer.Option("--to-org", help="The org; '' for none.")]
ToProject = Annotated[str | None, typer.Option("--to-project", help="The project; '' for none.")]
ToScope = Annotated[str | None, typer.Option("--to-scope", help="Who sees them: agent, project or shared.")]
ToAgent = Annotated[str | None, typer.Option("--to-agent", help="Whose they are, where the key may say so.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only show what would be moved.")]
Map = Annotated[
    list[str] | None, typer.Option("--map", metavar="PROJECT=ORG", help="The org of a project; repeatable.")
]
_SHOWN = 20


@dataclass(slots=True)
class Moved:
    """Counts of memories by outcome."""

    dry_run: bool
    moved: int = 0
    duplicates: int = 0
    """Something there says the same: they stay where they are."""
    refused: int = 0
    gone: int = 0
    """Ended meanwhile."""
    sample: list[str] = field(default_factory=list)
    undecided: list[str] = field(default_factory=list)
    """Projects of which no org is known."""

    def as_data(self) -> dict[str, Any]:
        """For scripts."""
        return {name: getattr(self, name) for name in self.__slots__}


@command(
    "openbrain refile --project shop --to-project shop-api --dry-run",
    "openbrain refile --project shop --tag api --to-project shop-api --to-org core",
)
def refile(
    *,
    to: Speaking,
    narrowed: Narrowed,
    to_org: ToOrg = None,
    to_project: ToProject = None,
    to_scope: ToScope = None,
    to_agent: ToAgent = None,
    dry_run: DryRun = False,
    json: AsJson = False,
) -> None:
    """Move the living memories that match to another project or org, with their history, tags and use.

    Each is changed by itself and audited; what says the same as a memory that is there already stays where it is.
    """
    wanted = {"org": to_org, "project": to_project, "memory_scope": to_scope, "agent_id": to_agent}
    place = {name: value for name, value in wanted.items() if value is not None}
    filters = narrowed.filters(to.profile)
    if not place or not filters:
        raise Invalid("", "say which memories (--project, --org, --tag …) and where to (--to-project, --to-org …)")

    async def whole(brain: "OpenBrain") -> Moved:
        done = Moved(dry_run)
        ids = [memory.id async for memory in _matching(brain, filters) if _elsewhere(memory, place)]
        await _move(brain, ids, place, done, quiet=json)
        return done

    _report(to.ask(whole), json=json)


@command(
    "openbrain backfill-org --dry-run",
    "openbrain backfill-org --map shop=core --map site=core",
    "openbrain brain:backfill-org --dry-run",
)
def backfill_org(
    *, to: Speaking, mapped: Map = None, org: ToOrg = None, dry_run: DryRun = False, json: AsJson = False
) -> None:
    """Give the memories of a project that have no org the one that the others of this project have.

    --map names the org of a project of which that is not clear, --to-org that of all the rest.
    """
    named = dict(_pair(each) for each in mapped or ())

    async def whole(brain: "OpenBrain") -> Moved:
        done = Moved(dry_run)
        for project, known in (await _projects(brain)).items():
            chosen = named.get(project) or (next(iter(known)) if len(known) == 1 else org)
            if not chosen:
                done.undecided.append(project)
                continue
            without = [memory.id async for memory in _matching(brain, {"project": project}) if not memory.org]
            await _move(brain, without, {"org": chosen}, done, quiet=json)
        return done

    _report(to.ask(whole), json=json)


async def _projects(brain: "OpenBrain") -> dict[str, set[str]]:
    """The projects with memories of no org, and the orgs that each is of otherwise."""
    orgs: dict[str, set[str]] = {}
    without: list[str] = []
    async for memory in _matching(brain, {}):
        if memory.project and memory.org:
            orgs.setdefault(memory.project, set()).add(memory.org)
        elif memory.project and memory.project not in without:
            without.append(memory.project)
    return {project: orgs.get(project, set()) for project in without}


def _pair(text: str) -> tuple[str, str]:
    project, _, org = text.partition("=")
    if not project or not org:
        raise Invalid("--map", "must be PROJECT=ORG")
    return project, org


async def _matching(brain: "OpenBrain", filters: Mapping[str, Any]) -> AsyncIterator[Any]:
    cursor: str | None = None
    while True:
        page = await brain.memories(limit=limits.LIST_LIMIT, **given(cursor=cursor), **filters)
        for memory in page.memories:
            yield memory
        cursor = page.next_cursor
        if cursor is None:
            return


def _elsewhere(memory: Any, place: Mapping[str, str]) -> bool:
    return any((getattr(memory, name) or "") != value for name, value in place.items())


async def _move(brain: "OpenBrain", ids: Sequence[str], place: Mapping[str, Any], done: Moved, *, quiet: bool) -> None:
    done.sample += ids[: _SHOWN - len(done.sample)]
    if done.dry_run:
        done.moved += len(ids)
        return
    from rich.progress import Progress

    hidden = quiet or not sys.stderr.isatty()
    with Progress(console=console(stderr=True), disable=hidden, transient=True) as progress:
        for memory_id in progress.track(ids, description="moving"):
            await _move_one(brain, memory_id, place, done)


async def _move_one(brain: "OpenBrain", memory_id: str, place: Mapping[str, Any], done: Moved) -> None:
    try:
        await brain.update(memory_id, **place)
    except Conflict:
        done.duplicates += 1
    except NotFound:
        done.gone += 1
    except (Forbidden, Invalid) as error:
        done.refused += 1
        say(f"refused: {memory_id}: {error}")
    else:
        done.moved += 1


def _report(done: Moved, *, json: bool) -> None:
    if json:
        as_json(done.as_data())
    else:
        for memory_id in done.sample if done.dry_run else ():
            print(f"  {memory_id}")
        for project in done.undecided:
            say(f"{project}: no org is known of it: name it with --map {project}=ORG")
        kinds = {
            "would be moved" if done.dry_run else "moved": done.moved,
            "stay, as something there says the same": done.duplicates,
            "refused": done.refused,
            "ended meanwhile": done.gone,
        }
        print(", ".join(f"{count} {name}" for name, count in kinds.items() if count) or "nothing to move")
        if done.dry_run:
            print("nothing was changed: leave out --dry-run to do it")
    if done.refused:
        raise typer.Exit(exit_codes.REFUSED)
