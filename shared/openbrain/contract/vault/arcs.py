"""Arcs of a vault: the threads of past work."""

from datetime import datetime
from typing import Annotated

from pydantic import Field, StringConstraints

from openbrain.contract.base import Answer, QueryString
from openbrain.domain.events.data import NOT_BLANK
from openbrain.domain.events.submission import Project

HOTTEST = 10


class ArcsQuery(QueryString):
    """The filters of a list of arcs."""

    q: Annotated[str, StringConstraints(pattern=NOT_BLANK, max_length=2000)]
    project: Annotated[Project | None, Field(description="Exactly this project.")] = None
    min_heat: Annotated[int, Field(ge=0, le=HOTTEST, description="Minimum heat; 0: all arcs, cold ones included.")] = 2
    min_score: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)] = 0
    limit: Annotated[int, Field(ge=1, le=50)] = 5


class ArcAnswer(Answer):
    """One arc."""

    arc_id: str
    title: str
    path: str = Field(description="The path of its page.")
    region: str
    status: str
    project: str | None
    heat: int | None
    summary: str
    created_at: datetime
    score: float | None = Field(
        default=None,
        description="The higher of two scores: by words (1 if all are in its title or summary) and by meaning.",
    )


class ArcDetail(ArcAnswer):
    """One arc with its page."""

    content: str


class ArcsFound(Answer):
    """Arcs, best first. `complete`: every arc was compared by words and by meaning."""

    arcs: list[ArcAnswer]
    count: int
    complete: bool
