"""Tools that search for words, and list tags, orgs and projects."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from mcp_types import CallToolResult

from openbrain_mcp.tools import answers, arguments, fence
from openbrain_mcp.tools.spec import READS, ToolSpec

if TYPE_CHECKING:
    from openbrain.client import OpenBrain


async def brain_search(
    brain: "OpenBrain",
    q: arguments.SearchWords,
    fuzzy: arguments.Fuzzy = None,
    org: arguments.Org = None,
    project: arguments.ExactProject = None,
    type: arguments.Types = None,
    tags: arguments.Tags = None,
    agent_id: arguments.Author = None,
    include_scopes: arguments.Scopes = None,
    limit: arguments.Count = None,
    session_id: arguments.Session = None,
    cursor: arguments.Cursor = None,
) -> CallToolResult:
    """Find memories by the words they hold: names, error codes, paths. For a question use brain_recall."""
    narrowed = arguments.filters(None, org=org, project=project, type=type, agent_id=agent_id)
    narrowed |= arguments.given(tags=tags, include_scopes=include_scopes, session_id=session_id)
    page = await brain.search(q, fuzzy=fuzzy or False, limit=limit, cursor=cursor, **narrowed)
    silent = "The text index did not answer: only the newest were looked at." if page.degraded else ""
    return answers.text(silent, answers.more(page.next_cursor), answers.listed(page.hits))


async def brain_tags(
    brain: "OpenBrain",
    org: arguments.Org = None,
    project: arguments.ExactProject = None,
    limit: arguments.Count = None,
) -> CallToolResult:
    """Count the tags in use, most used first: what a project is about."""
    counts = await brain.tags(limit=limit, **arguments.filters(None, org=org, project=project))
    return _counted(((tag.name, tag.count) for tag in counts.tags), "tags", more=counts.more)


async def brain_scopes(brain: "OpenBrain", org: arguments.Org = None, limit: arguments.Count = None) -> CallToolResult:
    """Count memories by org and project: which names to filter by."""
    counts = await brain.scopes(limit=limit, **arguments.filters(None, org=org))
    lines = (
        (f"{of.org or '(no org)'} / {project.name or '(no project)'}", project.count)
        for of in counts.scopes
        for project in of.projects
    )
    return _counted(lines, "scopes", more=counts.more)


def _counted(counts: Iterable[tuple[str | None, int]], kind: str, *, more: bool) -> CallToolResult:
    lines = "\n".join(f"{count} {name if name is not None else '(none)'}" for name, count in counts)
    head = "There are more: raise limit, or name an org or project." if more else ""
    return answers.text(head, fence.fenced([fence.Block({}, lines, kind)] if lines else []))


TOOLS = (
    ToolSpec(brain_search, "Search words", READS, unlisted=("session_id", "cursor")),
    ToolSpec(brain_tags, "Tags in use", READS),
    ToolSpec(brain_scopes, "Orgs and projects", READS),
)
