"""What searches and counts are asked with."""

from typing import Annotated

from pydantic import Field

from openbrain.domain import limits
from openbrain.domain.submission import Query
from openbrain_api.discovery.cursors import CURSOR_CHARS
from openbrain_api.discovery.question import Facet
from openbrain_api.requests.narrowing import NarrowQuery

COUNTS = 1000
COUNTS_DEFAULT = 100
SCOPES = 200


class SearchQuery(NarrowQuery):
    """Words to look for, as they are written: any text is a query."""

    many = NarrowQuery.many | {"facets"}

    q: Annotated[Query, Field(description='Any of the words; "quoted words" must follow each other.')]
    fuzzy: Annotated[
        bool, Field(description="Words also match with a typo: one from 3 letters on, two from 6 on; not in quotes.")
    ] = False
    phrases: Annotated[bool, Field(description="false takes quotes like any other sign.")] = True
    highlights: Annotated[bool, Field(description="Show where the words stand in the content.")] = False
    facets: Annotated[
        tuple[Facet, ...],
        Field(max_length=limits.KEYWORDS, description="Count the values of these over all that match."),
    ] = ()
    limit: Annotated[int, Field(ge=1, le=limits.LIST_LIMIT)] = limits.LIST_LIMIT_DEFAULT
    cursor: Annotated[
        str | None,
        Field(max_length=CURSOR_CHARS, description="The next_cursor of the same query: what follows that page."),
    ] = None


class TagsQuery(NarrowQuery):
    """Whose tags, and how many."""

    limit: Annotated[int, Field(ge=1, le=COUNTS)] = COUNTS_DEFAULT


class ScopesQuery(NarrowQuery):
    """Whose orgs and projects, and how many of each."""

    limit: Annotated[int, Field(ge=1, le=SCOPES, description="Of the orgs, and of the projects of each.")] = (
        COUNTS_DEFAULT
    )
