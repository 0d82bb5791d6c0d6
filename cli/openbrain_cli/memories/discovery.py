"""search, tags and scopes."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from openbrain_cli.lazy_commands import command
from openbrain_cli.options import AsJson, Narrowed, Speaking, filled
from openbrain_cli.output import as_json, say

if TYPE_CHECKING:
    from openbrain.client import OpenBrain
    from openbrain.contract.brain.discovery import Searched

_PAGE = 100

Limit = Annotated[int, typer.Option("--limit", "-n", "-k", min=1, help="Maximum number of results.")]
TagLimit = Annotated[int, typer.Option("--limit", "-n", min=1, max=1000, help="Maximum number of tags.")]
ScopeLimit = Annotated[
    int, typer.Option("--limit", "-n", min=1, max=200, help="Maximum of orgs, and of projects in each.")
]
Fuzzy = Annotated[bool, typer.Option("--fuzzy", help="Allow typos: one in words from 3 letters on, two from 6 on.")]
Literal = Annotated[bool, typer.Option("--plain-quotes", help="Treat quotes as ordinary characters.")]
Facets = Annotated[
    list[str] | None,
    typer.Option("--facet", help="Count the values of type, tags, org, project, agent_id or source; repeatable."),
]


@command(
    "openbrain search 'tenant cache'",
    """openbrain search '"cache key" tenant' --project shop --facet tags""",
    "openbrain search kubernets --fuzzy --json | jq .total",
)
def search(
    words: Annotated[
        list[str], typer.Argument(metavar="WORDS...", help="""Words; '"words in quotes"' are a phrase.""")
    ],
    *,
    to: Speaking,
    narrowed: Narrowed,
    fuzzy: Fuzzy = False,
    plain_quotes: Literal = False,
    facet: Facets = None,
    limit: Limit = 20,
    json: AsJson = False,
) -> None:
    """Find memories by their words."""
    from openbrain_cli.memories.display import discovery_rendering

    query = filled("WORDS", " ".join(words))
    options = {"fuzzy": fuzzy, "phrases": not plain_quotes, "highlights": True, **narrowed.filters(to.profile)}
    answer = to.ask(lambda brain: _pages(brain, query, limit, options, facet or []))
    _note(answer.degraded)
    if json:
        as_json(answer)
        return
    if answer.hits:
        discovery_rendering.hits(answer.hits)
        say(f"{answer.count} of {answer.total}")
    else:
        say(f"nothing found: {'' if fuzzy else 'try --fuzzy, or '}ask for the meaning: openbrain recall")
    for name, counts in answer.facets.items():
        discovery_rendering.counts(name, counts)


async def _pages(brain: "OpenBrain", query: str, limit: int, options: dict[str, Any], facets: list[str]) -> "Searched":
    first = await brain.search(query, limit=min(_PAGE, limit), facets=facets, **options)
    hits, cursor = [*first.hits], first.next_cursor
    while cursor is not None and len(hits) < limit:
        page = await brain.search(query, limit=min(_PAGE, limit - len(hits)), cursor=cursor, **options)
        hits += page.hits
        cursor = page.next_cursor
    return first.model_copy(update={"hits": tuple(hits), "count": len(hits), "next_cursor": cursor})


@command("openbrain tags", "openbrain tags --project shop --type decision", "openbrain tags --json | jq '.tags[].name'")
def tags(to: Speaking, narrowed: Narrowed, limit: TagLimit = 100, json: AsJson = False) -> None:
    """Count the tags in use, most used first."""
    from openbrain_cli.memories.display import discovery_rendering

    filters = narrowed.filters(to.profile)
    answer = to.ask(lambda brain: brain.tags(limit=limit, **filters))
    _note(answer.degraded)
    if json:
        as_json(answer)
    elif answer.tags:
        discovery_rendering.counts("tag", answer.tags)
        _more(answer.more)
    else:
        say("there are no tags here yet: openbrain remember ... --tag NAME")


@command("openbrain scopes", "openbrain scopes --org acme", "openbrain scopes --json | jq '.scopes[].org'")
def scopes(to: Speaking, narrowed: Narrowed, limit: ScopeLimit = 100, json: AsJson = False) -> None:
    """Count memories by org and project."""
    from openbrain_cli.memories.display import discovery_rendering

    filters = narrowed.filters(to.profile)
    answer = to.ask(lambda brain: brain.scopes(limit=limit, **filters))
    _note(answer.degraded)
    if json:
        as_json(answer)
    elif answer.scopes:
        discovery_rendering.scopes(answer.scopes)
        _more(answer.more)
    else:
        say("there are no memories here yet: openbrain remember ..., or openbrain import")


def _note(degraded: tuple[str, ...]) -> None:
    if degraded:
        say("note: the full-text index did not answer; only the newest memories were searched")


def _more(more: bool) -> None:
    if more:
        say("there are more: raise --limit")
