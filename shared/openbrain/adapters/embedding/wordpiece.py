"""BERT's uncased tokenizer over the vocabulary that is shipped beside this file. No network, no hub."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources

from tokenizers import Tokenizer
from tokenizers.models import WordPiece
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer

from openbrain.domain.errors import SetupError

VOCABULARY = "bert_vocab.txt"
VOCABULARY_SHA256 = "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"


@dataclass(frozen=True, slots=True, kw_only=True)
class Numbering:
    """How a model numbers the tokens of this vocabulary, and what stands before and behind a text. Those two are no
    tokens of a text: `[SEP]` written in one is a word like any other."""

    begin: int
    end: int
    offset: int = 0
    """Where the vocabulary begins among the model's own tokens."""

    def framed(self, tokens: Sequence[int]) -> list[int]:
        """A model's input row of the numbers that `ids` gives."""
        return [self.begin, *(token + self.offset for token in tokens), self.end]


BERT = Numbering(begin=101, end=102)
MPNET = Numbering(begin=0, end=2, offset=4)
"""`<s>`, `<pad>`, `</s>`, `<unk>`, then BERT's vocabulary, of which [UNK] is the token for unknown words too."""


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
    """The token numbers of a text, in BERT's own numbers, without any before and behind it."""
    return tokenizer().encode(text).ids


def words(text: str) -> tuple[list[int], list[int]]:
    """Where each word of a text starts, and how many tokens it has."""
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
