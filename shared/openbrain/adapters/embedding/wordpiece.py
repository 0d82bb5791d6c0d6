"""BERT's uncased tokenizer over the vocabulary that is shipped beside this file. No network, no hub."""

import hashlib
from collections.abc import Sequence
from functools import cache
from importlib import resources

from tokenizers import Tokenizer
from tokenizers.models import WordPiece
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer

from openbrain.domain.errors import SetupError

VOCABULARY = "bert_vocab.txt"
VOCABULARY_SHA256 = "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"


BEGIN, END = 101, 102
"""[CLS] and [SEP]."""


@cache
def tokenizer() -> Tokenizer:
    """Read once. `SetupError` where the shipped file was changed."""
    raw = (resources.files("openbrain.adapters.embedding") / "assets" / VOCABULARY).read_bytes()
    if hashlib.sha256(raw).hexdigest() != VOCABULARY_SHA256:
        raise SetupError(f"{VOCABULARY} of this installation was changed: install openbrain-memory again")
    vocabulary = {token: number for number, token in enumerate(raw.decode().rstrip("\n").split("\n"))}
    built = Tokenizer(WordPiece(vocabulary, unk_token="[UNK]", max_input_chars_per_word=100))  # noqa: S106 - no secret
    built.normalizer = BertNormalizer()
    built.pre_tokenizer = BertPreTokenizer()
    return built


def ids(text: str) -> list[int]:
    """The token numbers of a text, without those that frame it."""
    return tokenizer().encode(text).ids


def framed(tokens: Sequence[int]) -> list[int]:
    """A model's input row of the numbers that `ids` gives. What frames a text is never in it: `[SEP]` written in one is
    a word like any other."""
    return [BEGIN, *tokens, END]


def words(text: str) -> tuple[list[int], list[int]]:
    """The start of each word of a text, and its number of tokens."""
    encoding = tokenizer().encode(text)
    starts: list[int] = []
    counts: list[int] = []
    previous = None
    for word, (start, _) in zip(encoding.word_ids, encoding.offsets, strict=True):
        if word != previous:
            starts.append(start)
            counts.append(0)
            previous = word
        counts[-1] += 1
    return starts, counts
