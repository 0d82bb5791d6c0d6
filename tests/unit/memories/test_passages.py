"""Properties of cutting a text into model inputs."""

import re
from collections.abc import Iterator
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openbrain.adapters.embedding import wordpiece
from openbrain.adapters.embedding.models import MODELS, Model, model
from openbrain.adapters.embedding.passages import PASSAGE_TOKENS, break_words, count_tokens, passages
from openbrain.domain.limits import CONTENT_CHARS, SPEAKER_CHARS
from tests.support.forms import examples

EXACT = MODELS["all-minilm"]
ESTIMATED = MODELS["embeddinggemma"]
UNKNOWN = Model()
HEADER = "2023-05-08 Caroline:"

WORDS = st.sampled_from(
    ["a", "deploy", "naïve", "東京", "한국어", "don't", "🎉", "[SEP]", "x=y", "e\u0301", "1.2.3", "Москва", "\u200d"]
)
GAPS = st.sampled_from([" ", "  ", ". ", "\n", "\n\n", "\t", "! ", "。", "", ",", "\r\n", "\u00a0"])
PROSE = st.builds(
    lambda parts, times: "".join(word + gap for word, gap in parts) * times,
    st.lists(st.tuples(WORDS, GAPS), max_size=60),
    st.sampled_from([1, 5, 30]),
)
TEXTS = st.one_of(PROSE, st.text(max_size=400), st.text(max_size=40).map(lambda text: text * 60))
HEADERS = st.sampled_from(["", "2023-05-08", HEADER, f"2023-05-08 {'🎉' * SPEAKER_CHARS}:", "x" * 5000, "日" * 2000])
KINDS = st.sampled_from([EXACT, ESTIMATED, UNKNOWN, MODELS["nomic-embed-text"]])


def bodies(text: str, header: str, kind: Model) -> list[str]:
    """The pieces of text in the inputs, each without its prompt and header."""
    inputs = passages(text, header, kind)
    empty = passages("", header, kind)[0]
    assert all(each.startswith(empty) for each in inputs), "every passage repeats prompt and header"
    return [each.removeprefix(empty) for each in inputs]


@given(TEXTS, HEADERS, KINDS)
@settings(max_examples=examples(150), deadline=None)
def test_every_character_is_in_a_passage(text: str, header: str, kind: Model) -> None:
    whole = break_words(text, kind.word_chars)
    first, *others = bodies(text, header, kind)
    assert whole.startswith(first)
    ends = {0: len(first)}
    for piece in others:
        # Positions where the piece can be (a text may repeat itself): it starts after the previous one started, and
        # leaves no gap.
        ends = {
            at: at + len(piece)
            for at in occurrences(whole, piece)
            if any(start < at <= end for start, end in ends.items())
        }

    assert len(whole) in ends.values()


def occurrences(text: str, piece: str) -> Iterator[int]:
    at = text.find(piece)
    while at >= 0:
        yield at
        at = text.find(piece, at + 1)


@given(TEXTS, st.integers(1, 120))
def test_breaking_words_adds_spaces_and_nothing_else(text: str, longest: int) -> None:
    broken = break_words(text, longest)

    rest = iter(broken)
    assert all(any(character == other for other in rest) for character in text), "in order, nothing is left out"
    assert len(broken) - len(text) == broken.count(" ") - text.count(" ")
    assert break_words(broken, longest) == broken
    assert max(map(len, re.findall(r"[^\s!-/:-@\[-`{-~]+", broken)), default=0) <= longest


@given(TEXTS, HEADERS, KINDS)
@settings(max_examples=examples(150), deadline=None)
def test_no_passage_is_beyond_the_window(text: str, header: str, kind: Model) -> None:
    limit = min(kind.token_limit, PASSAGE_TOKENS)

    assert all(count_tokens(each, kind) <= limit for each in passages(text, header, kind))


@given(TEXTS, HEADERS, KINDS)
@settings(max_examples=examples(30), deadline=None)
def test_the_same_text_is_always_cut_the_same_way(text: str, header: str, kind: Model) -> None:
    assert passages(text, header, kind) == passages(text, header, kind)


@pytest.mark.parametrize("kind", [EXACT, ESTIMATED, UNKNOWN])
def test_a_short_text_is_one_passage(kind: Model) -> None:
    text = "We moved the deploy to Thursday.\n\nCaroline is ill."

    assert passages(text, HEADER, kind) == [f"{kind.document_prompt}{HEADER} {text}"]
    assert passages(text, "", kind) == [kind.document_prompt + text]
    assert passages("", "", kind) == [kind.document_prompt]


@pytest.mark.parametrize("kind", [EXACT, ESTIMATED])
def test_neighbours_share_an_eighth_of_their_text_at_least(kind: Model) -> None:
    pieces = bodies(" ".join(f"Sentence {number} says something of its own." for number in range(400)), HEADER, kind)

    assert len(pieces) > 5
    for one, other in pairwise(pieces):
        shared = next(size for size in range(len(one), 0, -1) if other.startswith(one[-size:]))
        assert shared >= len(one) / 12


def test_cuts_lie_between_paragraphs_or_sentences_where_there_are_some() -> None:
    sentences = bodies("The quick brown fox jumps over the lazy dog again. " * 200, HEADER, EXACT)
    paragraphs = bodies(("One two three four. " * 10 + "\n\n") * 30, HEADER, EXACT)
    words = bodies("word " * 2000, HEADER, EXACT)

    assert all(each.endswith("again. ") and each.startswith("The quick") for each in sentences)
    assert all(each.endswith("\n\n") for each in paragraphs)
    assert all(each.startswith("word ") and each.endswith("word ") for each in words)


def test_a_word_beyond_the_models_longest_is_read_in_parts() -> None:
    """As one word WordPiece would map it to [UNK], like every other such word."""
    (unknown,) = set(wordpiece.ids("w" * 4000))

    pieces = passages("w" * 4000, "", EXACT)

    assert unknown not in {token for each in pieces for token in wordpiece.ids(each)}
    assert "".join(pieces).replace(" ", "").startswith("w" * 4000)


def test_special_tokens_written_in_a_text_are_words() -> None:
    assert not {wordpiece.BEGIN, wordpiece.END} & set(wordpiece.ids("[CLS] and [SEP] mean nothing here"))


@pytest.mark.parametrize("kind", [EXACT, ESTIMATED])
def test_a_text_far_longer_than_allowed_is_cut_whole(kind: Model) -> None:
    text = "The quick brown fox jumps over the lazy dog, naïvely. " * (10 * CONTENT_CHARS // 50)

    pieces = passages(text, HEADER, kind)

    assert pieces[-1].endswith("naïvely. ")
    assert sum(map(len, pieces)) >= len(text)


@pytest.mark.parametrize(
    ("name", "query", "document"),
    [
        ("embeddinggemma", "task: search result | query: ", "title: none | text: "),
        ("embeddinggemma:300m", "task: search result | query: ", "title: none | text: "),
        ("nomic-embed-text:v1.5", "search_query: ", "search_document: "),
        ("someone/mxbai-embed-large", "Represent this sentence for searching relevant passages: ", ""),
        ("bge-m3", "", ""),
        ("all-minilm:latest", "", ""),
        ("never-heard-of", "", ""),
    ],
)
def test_prompts_belong_to_models_however_a_server_spells_them(name: str, query: str, document: str) -> None:
    found = model(name)

    assert (found.query_prompt, found.document_prompt) == (query, document)


def test_an_unknown_model_is_given_what_any_model_takes() -> None:
    assert (model("never-heard-of").token_limit, model("never-heard-of").wordpiece) == (256, False)


@given(TEXTS, KINDS)
@settings(max_examples=examples(150), deadline=None)
def test_no_text_has_more_tokens_than_bytes(text: str, kind: Model) -> None:
    """This bound shows for most texts that they fit, without counting tokens."""
    broken = break_words(text, kind.word_chars)

    assert count_tokens(broken, kind) <= len(broken.encode()) + 2
