"""Times as callers write them: in any zone and year they give a time in UTC, or are refused."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from openbrain.domain.events.submission import Moment
from openbrain.domain.times import from_datetime, from_iso, to_iso
from openbrain_tick.plan import extract

OFFSETS = st.integers(-24 * 60 + 1, 24 * 60 - 1).map(lambda minutes: timezone(timedelta(minutes=minutes)))
MOMENTS = st.one_of(
    st.datetimes(timezones=OFFSETS),
    st.datetimes(max_value=datetime(1, 1, 3), timezones=OFFSETS),  # noqa: DTZ001 - gets its zone from the strategy
    st.datetimes(min_value=datetime(9998, 12, 30), timezones=OFFSETS),  # noqa: DTZ001
)


@given(MOMENTS)
@example(datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=23, minutes=59))))
@example(datetime(9999, 12, 31, 23, 59, tzinfo=timezone(-timedelta(hours=23, minutes=59))))
def test_a_written_time_is_a_moment_or_is_refused(at: datetime) -> None:
    written = at.isoformat()
    for kind in (Moment, extract.Moment):
        try:
            taken = TypeAdapter(kind).validate_python(written)
        except ValidationError as refused:
            assert "9998" in str(refused) or "9999" in str(refused)  # noqa: PT017 - either may be
            continue
        assert taken == at
        assert taken.tzinfo is UTC
        assert from_iso(to_iso(from_datetime(taken))) == from_datetime(taken)


@pytest.mark.parametrize("written", ["0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59", "9999-06-01T00:00:00Z"])
def test_what_has_no_year_in_utc_is_refused_with_a_word(written: str) -> None:
    with pytest.raises(ValidationError, match="must be a year from 1 to 9998 in UTC"):
        TypeAdapter(Moment).validate_python(written)


@given(st.text())
def test_any_text_is_a_moment_or_none(text: str) -> None:
    assert from_iso(text) is None or isinstance(from_iso(text), int)
