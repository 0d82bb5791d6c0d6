"""Extract: counts what happened in the sessions of a time window. The bundle has the same JSON keys as the original."""

import re
from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Annotated, Final

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, PlainSerializer, ValidationError

from openbrain.domain.errors import Invalid
from openbrain.domain.events.envelope import first_problem
from openbrain.vault.markers.transcripts import Record, moment, project_of

PROMPT_CHARS: Final = 300
TOP_TOOLS: Final = 10
MOST_MARKERS: Final = 50
_NAME_CHARS: Final = 100

_JOY = re.compile(
    r"\b(?:finally|beautiful|perfect|nice|awesome|excellent|eureka|this is it|shipped|works|clean|green)\b",
    re.IGNORECASE,
)
_ERROR = re.compile(
    r"\b(?:broken|failed|error|exception|crash|down|urgent|incident|regression|rollback|revert"
    r"|401|403|429|500|502|503|504)\b",
    re.IGNORECASE,
)
_AGO = re.compile(r"(\d{1,9})\s*([smhdw])")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def _in_utc(at: datetime) -> datetime:
    try:
        return (at if at.tzinfo else at.replace(tzinfo=UTC)).astimezone(UTC)
    except OverflowError:
        raise ValueError("must be a year from 1 to 9999 in UTC") from None


Moment = Annotated[datetime, AfterValidator(_in_utc), PlainSerializer(datetime.isoformat, return_type=str)]
Count = Annotated[int, Field(ge=0)]


class _Value(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class UsedTool(_Value):
    name: str
    count: Count


class Session(_Value):
    """One session, always counted completely, even if only a part is in the window."""

    session_id: Annotated[str, Field(min_length=1, max_length=255)]
    project: str = "unknown"
    cwd: str = ""
    git_branch: str = ""
    start: Moment
    end: Moment
    duration_minutes: float = 0.0
    num_user_turns: Count = 0
    num_assistant_turns: Count = 0
    num_tool_calls: Count = 0
    first_user_prompt: str = ""
    last_user_prompt: str = ""
    top_tools: tuple[UsedTool, ...] = ()
    compactions: Count = 0
    joy_markers: Count = 0
    error_markers: Count = 0


class Window(_Value):
    """The requested time window."""

    since: Moment
    until: Moment
    hours: float = 0.0


class Filter(_Value):
    """Other filters of sessions."""

    project: str | None = None
    min_turns: int = 5


class Bundle(_Value):
    """The sessions of a window that pass the filter, by start time."""

    window: Window | None = None
    filter: Filter = Filter()
    sessions_scanned: Count = 0
    sessions_returned: Count = 0
    sessions: tuple[Session, ...] = ()


def window(since: str, until: str, now: datetime) -> Window:
    """A window from texts: `26h`, `90m`, `7d` (ago), or an ISO time. An empty `until` means now."""
    begins, ends = _when("since", since, now), _when("until", until, now) if until else now
    if begins >= ends:
        raise Invalid("since", "must lie before `until`")
    return Window(since=begins, until=ends, hours=round((ends - begins).total_seconds() / 3600, 2))


def _when(field: str, words: str, now: datetime) -> datetime:
    ago = _AGO.fullmatch(words.strip())
    if ago:
        try:
            return now - timedelta(**{_UNITS[ago[2]]: int(ago[1])})
        except OverflowError:
            raise Invalid(field, "is before the year 1") from None
    at = moment(words)
    if at is None:
        raise Invalid(field, "must be a number with s, m, h, d or w, as in 26h, or an ISO time")
    return at


def session(session_id: str, records: Iterable[Record]) -> Session | None:
    """One session from its records; None if no record has a time."""
    times: list[datetime] = []
    cwd = branch = ""
    prompts: list[str] = []
    tools, turns = Counter[str](), Counter[str]()
    compactions = joy = errors = 0
    for record in records:
        cwd, branch = cwd or record.cwd, branch or record.branch
        if record.at is None:
            continue
        times = [min([*times[:1], record.at]), max([*times[1:], record.at])]
        turns[record.kind] += 1
        tools.update(tool.name[:_NAME_CHARS] for tool in record.tools)
        if record.kind == "user":
            compactions += record.compacts
            if record.text.strip():
                prompts = [*prompts[:1], record.text.strip()[:PROMPT_CHARS]]
        elif record.kind == "assistant":
            joy += _JOY.search(record.text) is not None
            errors += _ERROR.search(record.text) is not None
    if not times:
        return None
    start, end = times
    return Session(
        session_id=session_id,
        project=project_of(cwd),
        cwd=cwd,
        git_branch=branch,
        start=start,
        end=end,
        duration_minutes=round((end - start).total_seconds() / 60, 1),
        num_user_turns=turns["user"],
        num_assistant_turns=turns["assistant"],
        num_tool_calls=tools.total(),
        first_user_prompt=prompts[0] if prompts else "",
        last_user_prompt=prompts[-1] if prompts else "",
        top_tools=tuple(UsedTool(name=name, count=times_used) for name, times_used in tools.most_common(TOP_TOOLS)),
        compactions=compactions,
        joy_markers=min(joy, MOST_MARKERS),
        error_markers=min(errors, MOST_MARKERS),
    )


def bundle(sessions: Iterable[Session | None], within: Window, wanted: Filter, scanned: int) -> Bundle:
    """A bundle of the sessions that overlap the window and have enough user turns."""
    kept = [
        item
        for item in sessions
        if item is not None
        and item.start <= within.until
        and item.end >= within.since
        and item.num_user_turns >= wanted.min_turns
    ]
    kept.sort(key=lambda item: (item.start, item.session_id))
    return Bundle(
        window=within, filter=wanted, sessions_scanned=scanned, sessions_returned=len(kept), sessions=tuple(kept)
    )


def read_bundle(raw: bytes) -> Bundle:
    """A bundle from its JSON; `Invalid` names the first field that is wrong."""
    if not raw.strip():
        raise Invalid("bundle", "is empty: give the output of `openbrain vault extract`")
    try:
        return Bundle.model_validate_json(raw)
    except ValidationError as error:
        field, why = first_problem(error)
        raise Invalid(".".join(filter(None, ("bundle", field))), why) from None
