"""BERT's uncased tokenizer with the vocabulary shipped in this package. No network, no hub."""

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
    """Load once. `SetupError` if the shipped file was changed."""
    raw = (resources.files("openbrain.adapters.embedding") / "assets" / VOCABULARY).read_bytes()
    if hashlib.sha256(raw).hexdigest() != VOCABULARY_SHA256:
        raise SetupError(f"{VOCABULARY} of this installation was changed: install openbrain-memory again")
    vocabulary = {token: number for number, token in enumerate(raw.decode().rstrip("\n").split("\n"))}
    built = Tokenizer(WordPiece(vocabulary, unk_token="[UNK]", max_input_chars_per_word=100))  # noqa: S106 - no secret
    built.normalizer = BertNormalizer()
    built.pre_tokenizer = BertPreTokenizer()
    return built


def ids(text: str) -> list[int]:
    """Return the token ids of a text, without the special tokens that frame it."""
    return tokenizer().encode(text).ids


def framed(tokens: Sequence[int]) -> list[int]:
    """Return a model's input row for ids from `ids`. Texts never contain the frame: `[SEP]` in a text is an ordinary
    word."""
    return [BEGIN, *tokens, END]


def words(text: str) -> tuple[list[int], list[int]]:
    """Return the start and the number of tokens of each word of a text."""
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
