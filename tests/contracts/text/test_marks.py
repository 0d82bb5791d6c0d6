"""The contract of marks: the positions of words and phrases in a text that the caller gives."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from openbrain.ports.index import TextIndex, TextQuery
from tests.support.forms import examples

Prepared = tuple[TextIndex, str]
LAWS = settings(
    max_examples=examples(40),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@pytest.mark.parametrize(
    ("query", "text", "marked"),
    [
        (TextQuery(words="dog running"), "Dogs run. The dog ran", ["Dogs", "run", "dog"]),
        (TextQuery(phrases=("blue boat",)), "blue boat, a boat; blue boats", ["blue boat", "blue boats"]),
        (TextQuery(phrases=("state of the art",), words="art"), "state of the art", ["state of the art"]),
        (TextQuery(words="kubarnetes", fuzzy=True), "Kubernetes is not kubern", ["Kubernetes"]),
        (TextQuery(words="kubarnetes"), "Kubernetes", []),
        (TextQuery(words="café 日本"), "😀 Cafés in 日本語 <b>cafe</b>", ["Cafés", "日", "本"]),
        (TextQuery(words="the of"), "the art of war", []),
        (TextQuery(words="x"), "", []),
        (TextQuery(words="\ud800"), "\ud800 x", []),
    ],
)
async def test_marks_stand_where_the_words_do(
    text_index: Prepared, query: TextQuery, text: str, marked: list[str]
) -> None:
    index, _ = text_index

    (spans, again) = await index.marks(query, [text, text])

    assert [text[start:end] for start, end in spans] == marked
    assert again == spans


@LAWS
@given(text=st.text(max_size=200), words=st.text(max_size=50), fuzzy=st.booleans())
async def test_marks_are_in_order_and_apart(text_index: Prepared, text: str, words: str, fuzzy: bool) -> None:
    index, _ = text_index

    (spans,) = await index.marks(TextQuery(words=words, phrases=(text[:20],), fuzzy=fuzzy), [text])

    edges = [edge for span in spans for edge in span]
    assert edges == sorted(edges)
    assert all(0 <= start < end <= len(text) for start, end in spans)
