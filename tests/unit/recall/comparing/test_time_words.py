"""Which words of a question are read as times, what times they mean, and how near a memory is to them."""

from datetime import UTC, datetime

import pytest

from openbrain.domain.memory import DAY
from openbrain.domain.times import from_datetime, to_iso
from openbrain_api.recall.comparing.time_words import MOST, READ_CHARS, TimeSpan, nearness, read_times

SATURDAY = from_datetime(datetime(2023, 5, 20, 23, 30, tzinfo=UTC))


async def read(query: str, now: int = SATURDAY) -> list[tuple[str, str, str]]:
    return [(each.words, to_iso(each.since)[:10], to_iso(each.until)[:10]) for each in await read_times(query, now)]


@pytest.mark.parametrize(
    ("query", "words", "since", "until"),
    [
        ("What did we decide yesterday?", "yesterday", "2023-05-19", "2023-05-20"),
        ("what broke the day before  yesterday", "the day before yesterday", "2023-05-18", "2023-05-19"),
        ("today's deploys", "today", "2023-05-20", "2023-05-21"),
        ("Who was ill Last Week?", "Last Week", "2023-05-08", "2023-05-15"),
        ("What did she paint two weeks ago?", "two weeks ago", "2023-05-01", "2023-05-08"),
        ("Where did she move from 4 years ago?", "4 years ago", "2019-01-01", "2020-01-01"),
        ("what happened last month", "last month", "2023-04-01", "2023-05-01"),
        ("the outage on Monday", "on Monday", "2023-05-15", "2023-05-16"),
        ("the outage last Friday", "last Friday", "2023-05-19", "2023-05-20"),
        ("What happened in May 2022?", "May 2022", "2022-05-01", "2022-06-01"),
        ("What was released in Sept. 2021?", "Sept. 2021", "2021-09-01", "2021-10-01"),
        ("When did she go camping in June?", "in June", "2022-06-01", "2022-07-01"),
        ("the release of 2021", "of 2021", "2021-01-01", "2022-01-01"),
        ("What was shown on October 13th, 2022?", "October 13th, 2022", "2022-10-13", "2022-10-14"),
        ("What was found on 1 February, 2023", "1 February, 2023", "2023-02-01", "2023-02-02"),
        ("the log of 2023-05-07", "2023-05-07", "2023-05-07", "2023-05-08"),
    ],
)
async def test_times_are_read(query: str, words: str, since: str, until: str) -> None:
    assert await read(query) == [(words, since, until)]


@pytest.mark.parametrize(
    "query",
    [
        "Who may be the owner?",
        "Does the march go past the Mayflower?",
        "port 2023",
        "ticket 12023-05-071",
        "the last deploy of this service",
        "on 31 June",
        "2023-13-45",
        "the sun, and we",
        "x" * READ_CHARS + " yesterday",
    ],
)
async def test_what_names_no_time_is_left_alone(query: str) -> None:
    assert await read(query) == []


@pytest.mark.parametrize(("year", "query"), [(1, "999 years ago"), (1, "last sunday"), (9999, "this year")])
async def test_times_beyond_the_calendar_are_none(year: int, query: str) -> None:
    assert await read(query, from_datetime(datetime(year, 1, 1, tzinfo=UTC))) == []


async def test_a_few_times_are_enough() -> None:
    assert len(await read(" ".join(f"{days} days ago" for days in range(1, 60, 2)))) == MOST


def test_nearness_fades_over_a_week_or_the_length() -> None:
    day, month = TimeSpan("", 100 * DAY, 101 * DAY), TimeSpan("", 0, 30 * DAY)

    assert [day.nearness(at * DAY) for at in (93, 100, 101, 108)] == [0, 1, 1, 0]
    assert month.nearness(45 * DAY) == 0.5
    assert nearness([day, month], 20 * DAY) == 1
    assert nearness([], 5) == 0
