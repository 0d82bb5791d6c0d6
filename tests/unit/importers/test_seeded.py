"""The tags and the confidence that `seed-memory` gives."""

from openbrain.domain.memory import MemoryType
from openbrain_cli.importers.found_memory import TAG, FoundMemory
from openbrain_cli.importers.seeded import MOST_TAGS, seeded


def section(content: str) -> FoundMemory:
    tags = ("ada", TAG)
    return FoundMemory(client="claude", path="p", heading="", content=content, type=MemoryType.FACT, tags=tags)


def test_words_in_backticks_are_tags_before_the_others() -> None:
    found = seeded(section("`redis` and `make test`, `Redis`, `x`, `redis` again, `my-tool`, `ada`"))

    assert found.tags == ("redis", "my-tool", "ada", TAG)
    assert found.confidence == 0.8


def test_only_the_first_ones_and_none_that_is_too_long() -> None:
    words = [f"`word-{number}`" for number in range(MOST_TAGS + 5)]

    assert len(seeded(section(" ".join(words))).tags) == MOST_TAGS + 2
    assert seeded(section(f"`{'a' * 1000}`")).tags == ("ada", TAG)
