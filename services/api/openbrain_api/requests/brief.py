"""What a brief is asked with."""

from typing import Annotated

from pydantic import Field

from openbrain.domain import limits
from openbrain.domain.submission import Moment, Org, Project
from openbrain_api.requests.memories import SessionQuery

DAYS_DEFAULT = 7


class BriefQuery(SessionQuery):
    """Since when, and of what."""

    since: Annotated[
        Moment | None, Field(description=f"What happened then or later; {DAYS_DEFAULT} days ago where left out.")
    ] = None
    org: Org | None = None
    project: Annotated[Project | None, Field(description="Exactly this project.")] = None
    limit: Annotated[int, Field(ge=1, le=limits.LIST_LIMIT, description="Of each list.")] = limits.LIST_LIMIT_DEFAULT
