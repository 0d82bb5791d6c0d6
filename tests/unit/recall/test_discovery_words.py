"""From typed text to a query, and from match positions to the excerpt that is shown."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openbrain.contract.brain.discovery import CURSOR_CHARS
from openbrain.domain.errors import Invalid
from openbrain.ports.index import Place, TextQuery
from openbrain_api.discovery.cursors import Cursor, query_seal, read, written
from openbrain_api.discovery.fragments import CHARS, MOST, fragments, shares
from openbrain_api.discovery.question import PHRASES, parsed

QUOTES = '"\u201c\u201d\u201e\u00ab\u00bb'
typed = st.text(alphabet=st.sampled_from(f"ab {QUOTES}\n\\'*:(") | st.characters(), max_size=60)


@pytest.mark.parametrize(
    ("text", "words", "phrases"),
    [
        ("blue boat", "blue boat", ()),
        ('"blue boat"', "", ("blue boat",)),
        ('old "blue  \n boat" sinks', "old   sinks", ("blue boat",)),
        ("\u201cblue boat\u201d", "", ("blue boat",)),
        ("\u201eblaues Boot\u201c", "", ("blaues Boot",)),
        ("\u00abbateau bleu\u00bb", "", ("bateau bleu",)),
        ('a "b', 'a "b', ()),
        ('"a" "b', '"b', ("a",)),
        ('""', "", ()),
        ('" "', "", ()),
        ('"a" "a"', "", ("a",)),
        ("it's 'quoted'", "it's 'quoted'", ()),
    ],
)
def test_quoted_words_are_phrases(text: str, words: str, phrases: tuple[str, ...]) -> None:
    assert parsed(text, phrases=True, fuzzy=False) == TextQuery(words=words, phrases=phrases)
    assert parsed(text, phrases=False, fuzzy=True) == TextQuery(words=text, fuzzy=True)


def test_phrases_beyond_the_limit_are_words() -> None:
    text = " ".join(f'"p{number} x"' for number in range(PHRASES + 2))

    query = parsed(text, phrases=True, fuzzy=False)

    assert len(query.phrases) == PHRASES
    assert query.words.split() == [f"p{PHRASES}", "x", f"p{PHRASES + 1}", "x"]


@given(text=typed, phrases=st.booleans(), fuzzy=st.booleans())
def test_nothing_typed_is_lost_and_nothing_added(text: str, phrases: bool, fuzzy: bool) -> None:
    query = parsed(text, phrases=phrases, fuzzy=fuzzy)

    plain = set("".join(text.split())) - set(QUOTES)
    kept = set("".join((query.words + "".join(query.phrases)).split())) - set(QUOTES)
    assert kept == plain
    assert len(query.phrases) <= PHRASES
    assert all(phrase.strip() == phrase != "" for phrase in query.phrases)
    assert query.fuzzy is fuzzy


@given(words=st.lists(st.sampled_from(("a", "boat", "blue")), min_size=1, max_size=5))
def test_what_is_quoted_is_one_phrase(words: list[str]) -> None:
    phrase = " ".join(words)

    assert parsed(f'x "{phrase}" y', phrases=True, fuzzy=False).phrases == (phrase,)


spans_of_text = st.text(max_size=900).flatmap(
    lambda text: st.tuples(
        st.just(text),
        st.lists(st.integers(0, max(0, len(text) - 1)), max_size=12, unique=True).map(
            lambda starts: [(start, start + 1) for start in sorted(starts) if text]
        ),
    )
)


@given(spans_of_text)
def test_fragments_are_the_text_and_show_the_first_places(case: tuple[str, list[tuple[int, int]]]) -> None:
    text, spans = case

    found = fragments(text, spans)

    assert bool(found) == bool(spans)
    assert len(found) <= MOST
    end = 0
    shown = []
    for each in found:
        assert each.text == text[each.start : each.start + len(each.text)]
        assert each.start >= end
        assert 0 < len(each.text) <= CHARS + 21
        assert each.matches
        end = each.start + len(each.text)
        shown += [(left + each.start, right + each.start) for left, right in each.matches]
    assert shown == spans[: len(shown)]


def test_a_fragment_is_cut_between_words() -> None:
    text = f"{'word ' * 100}boat{' word' * 100}"
    at = text.index("boat")

    (found,) = fragments(text, [(at, at + 4)])

    assert found.text.split()[0] == "word"
    assert found.text.split()[-1] == "word"
    ((start, end),) = found.matches
    assert found.text[start:end] == "boat"


@given(lengths=st.lists(st.integers(0, 1000), max_size=10), total=st.integers(0, 3000))
def test_a_total_is_shared_fairly(lengths: list[int], total: int) -> None:
    given_out = shares(lengths, total)

    assert all(0 <= part <= length for part, length in zip(given_out, lengths, strict=True))
    assert sum(given_out) <= total
    if sum(lengths) <= total:
        assert given_out == lengths
    cut = [part for part, length in zip(given_out, lengths, strict=True) if part < length]
    assert not cut or max(cut) - min(cut) <= 1
    assert not cut or total - sum(given_out) < len(lengths)


ID = "0198f3a2-5c1e-7b6d-9a55-0d4c3b2a1f00"


@given(
    score=st.floats(1e-6, 1e6),
    best=st.floats(1e-6, 1e6),
    rank=st.integers(0, 2**50),
    source=st.sampled_from(("text", "truth")),
    query=st.text(),
)
def test_a_cursor_reads_back_for_its_own_query_alone(
    score: float, best: float, rank: int, source: str, query: str
) -> None:
    cursor = Cursor(source, Place(score, ID, rank), best)  # type: ignore[arg-type]  # one of two words
    text = written(cursor, query_seal(query, 1))

    assert read(text, query_seal(query, 1)) == cursor
    assert len(text) <= CURSOR_CHARS
    for other in (query_seal(query, 2), query_seal(query), query_seal(f"{query} ", 1)):
        with pytest.raises(Invalid, match="cursor"):
            read(text, other)


@given(text=st.text(max_size=CURSOR_CHARS) | st.binary(max_size=200).map(lambda raw: raw.hex()))
def test_any_other_text_is_no_cursor(text: str) -> None:
    with pytest.raises(Invalid, match="cursor"):
        read(text, query_seal("q"))


@pytest.mark.parametrize(
    "parts",
    [
        ["text", 1.0, ID, 1],
        ["text", 1.0, ID, 1, 1.0, 1],
        ["elsewhere", 1.0, ID, 1, 1.0],
        ["text", 0.0, ID, 1, 1.0],
        ["text", -1.0, ID, 1, 1.0],
        ["text", 1e300, ID, 1, 1.0],
        ["text", "1", ID, 1, 1.0],
        ["text", 1.0, "x", 1, 1.0],
        ["text", 1.0, None, 1, 1.0],
        ["text", 1.0, ID, -1, 1.0],
        ["text", 1.0, ID, 2**60, 1.0],
        ["text", 1.0, ID, 1.5, 1.0],
        ["text", 1.0, ID, True, 1.0],
        ["text", 1.0, ID, 1, 0],
    ],
)
def test_a_forged_cursor_is_refused(parts: list[object]) -> None:
    import base64

    import orjson

    text = base64.urlsafe_b64encode(orjson.dumps([query_seal("q"), *parts])).decode().rstrip("=")
    with pytest.raises(Invalid, match="cursor"):
        read(text, query_seal("q"))
