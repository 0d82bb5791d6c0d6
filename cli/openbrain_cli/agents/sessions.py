"""sessions and context: what an agent reads at its start, and what it hands over to the next session."""

from typing import TYPE_CHECKING, Annotated

import typer

from openbrain_cli.lazy_commands import command, new_app
from openbrain_cli.options import AsJson, Cursor, Limit, Org, Project, Session, Speaking, given
from openbrain_cli.output import as_json, moment, one_line, plain, say, show, table

if TYPE_CHECKING:
    from openbrain.contract.brain.sessions import SessionAnswer

app = new_app(no_args_is_help=True, help="Sessions of the key's agent, and hand-overs from one session to the next.")

SessionId = Annotated[str, typer.Argument(metavar="SESSION", help="Id of the session.")]
Own = Annotated[str, typer.Option("--id", help="Id chosen by the client; generated if left out.")]
Policy = Annotated[str, typer.Option("--policy", help="What happens to its memories: expire, stay or promote.")]
Days = Annotated[int | None, typer.Option("--days", min=1, help="Days until its memories expire; 7 if left out.")]
Invited = Annotated[list[str] | None, typer.Option("--with", metavar="AGENT", help="Agent that may join; repeatable.")]
Open = Annotated[bool, typer.Option("--open", help="Only sessions that have not ended.")]
Summary = Annotated[str, typer.Option("--summary", help="What was done.")]
Steps = Annotated[list[str] | None, typer.Option("--next", metavar="STEP", help="A next step; repeatable.")]
Blockers = Annotated[list[str] | None, typer.Option("--blocker", help="What blocks the work; repeatable.")]
Budget = Annotated[int | None, typer.Option("--budget", min=200, help="Maximum number of tokens; 2000 if left out.")]


@app.command()
@command("openbrain sessions start --project shop", "openbrain sessions start --id s1 --policy promote --with bo")
def start(
    to: Speaking,
    *,
    own_id: Own = "",
    org: Org = None,
    project: Project = None,
    policy: Policy = "",
    days: Days = None,
    invited: Invited = None,
    json: AsJson = False,
) -> None:
    """Start, join or continue a session; show the hand-over of the project's last session."""
    options = given(session_id=own_id, org=org, project=project, policy=policy, days=days, agents=invited)
    started = to.ask(lambda brain: brain.start_session(**options))
    if json:
        as_json(started)
        return
    print(started.id)
    say("started" if started.created else "continued")
    if started.hand_over:
        print(plain(started.hand_over.content))


@app.command("list")
@command("openbrain sessions list", "openbrain sessions list --project shop --open --json")
def list_sessions(
    to: Speaking,
    *,
    project: Project = None,
    only_open: Open = False,
    limit: Limit = 20,
    cursor: Cursor = None,
    json: AsJson = False,
) -> None:
    """Show the agent's sessions, newest first."""
    page = to.ask(lambda brain: brain.sessions(project=project, open_only=only_open, limit=limit, cursor=cursor))
    if json:
        as_json(page)
        return
    if page.sessions:
        show(table("began", "session", rows=map(_row, page.sessions)))
    say(f"there is more: --cursor {page.next_cursor}" if page.next_cursor else f"{page.count} sessions")


@app.command()
@command("openbrain sessions end s1 --summary 'carts are tested' --next 'test prices' --blocker 'no test data'")
def end(
    session: SessionId,
    to: Speaking,
    *,
    summary: Summary = "",
    steps: Steps = None,
    blockers: Blockers = None,
    json: AsJson = False,
) -> None:
    """End a session; hand its summary, steps and blockers over to the project's next session."""
    options = given(summary=summary, next_steps=steps, blockers=blockers)
    ended = to.ask(lambda brain: brain.end_session(session, **options))
    if json:
        as_json(ended)
        return
    left = f"hand-over {ended.hand_over.id}" if ended.hand_over else "no hand-over"
    say(f"ended; {left}; {ended.promoted} memories promoted to the project")


@command("openbrain context ada --project shop", "openbrain context ada --project shop --budget 500 --json")
def context(
    agent_id: Annotated[str, typer.Argument(metavar="AGENT", help="The key's agent, or one that it may speak for.")],
    to: Speaking,
    *,
    org: Org = None,
    project: Project = None,
    session: Session = "",
    budget: Budget = None,
    json: AsJson = False,
) -> None:
    """Print an agent's boot context: alarms, what it knows, the project's decisions, the last hand-over."""
    options = given(org=org, project=project, session_id=session, budget_tokens=budget)
    response = to.ask(lambda brain: brain.context(agent_id, **options))
    if json:
        as_json(response)
        return
    print(plain(response.text))
    say(f"{response.count} items, about {response.tokens} tokens; {response.left_out} left out")


def _row(session: "SessionAnswer") -> tuple[str, ...]:
    state = f"ended {moment(session.ended_at)}" if session.ended_at else "open"
    about = " · ".join([state, *(one_line(each) for each in (session.project, session.agent_id) if each)])
    return moment(session.started_at), f"{one_line(session.id)}\n{about}"
