"""Token states: one short vector for each content word, so that words are compared in their context.

They come from the pass that the sentence model makes anyway: the state of each content token, projected to 64
dimensions and normalised. Documents store them in 8 bits; a question's are floats.
"""

import hashlib
from array import array
from collections.abc import Iterator, Sequence
from functools import cache
from importlib import resources
from typing import Any

import numpy as np
from numpy.typing import NDArray

from openbrain.adapters.embedding.wordpiece import tokenizer
from openbrain.domain.errors import SetupError
from openbrain.domain.text.tokens import FUNCTION_WORDS
from openbrain.ports.models import Beside, TokenSimilarity

PROJECTION = "token_projection.f16"
PROJECTION_SHA256 = "cf51d6e2bba531310e913c275264e5a1e0b4297b181b4c45e1b58a4e53d535f9"
DIMENSIONS = 64
VERSION = b"\x01"
"""First byte of stored states: raise it when the projection or the set of content tokens changes."""
_SCALE = 127
_RARE = 0.05
"""Lower bound of a token's mean similarity in its weight: below it a token is not rarer."""
_AT_ONCE = 100_000
"""Numbers computed at once: they stay in the processor's cache. For the states of a hundred long texts and a long
question, all would take a gigabyte."""

Matrix = NDArray[np.float32]


@cache
def projection() -> Matrix:
    """Return the projection: (dimensions of the model, 64). `SetupError` if the shipped file was changed."""
    raw = (resources.files("openbrain.adapters.embedding") / "assets" / PROJECTION).read_bytes()
    if hashlib.sha256(raw).hexdigest() != PROJECTION_SHA256:
        raise SetupError(f"{PROJECTION} of this installation was changed: install openbrain-memory again")
    return np.frombuffer(raw, "<f2").reshape(-1, DIMENSIONS).astype(np.float32)


@cache
def content_tokens() -> NDArray[np.bool_]:
    """By token id: True if it is a content word or a part of one."""
    known = tokenizer().get_vocab()
    content = np.zeros(max(known.values()) + 2, np.bool_)
    content[[number for token, number in known.items() if _says_something(token)]] = True
    return content


def _says_something(token: str) -> bool:
    part = token.removeprefix("##")
    special = part.startswith("[") and len(part) > 1
    # `##s` is little more than an ending.
    return part[0].isalnum() and not special and token != "##s" and part not in FUNCTION_WORDS  # noqa: S105


def projected(states: NDArray[Any], tokens: NDArray[Any]) -> tuple[Matrix, Sequence[int]]:
    """Return the unit states of the content tokens of all rows, concatenated, and their number in each row. `tokens`:
    the ids by row, padded with -1."""
    wanted = content_tokens()[tokens]  # padding selects the last entry, which is False
    small = states[wanted] @ projection()
    small /= np.maximum(np.linalg.norm(small, axis=1, keepdims=True), 1e-9)
    return small, wanted.sum(axis=1).tolist()


def pack(states: Matrix) -> bytes:
    """Encode token states for storage."""
    return VERSION + np.rint(states * _SCALE).astype(np.int8).tobytes()


def similarities(
    question: "array[float]", documents: Sequence[Sequence[bytes]], beside: Sequence[Beside] = ()
) -> Sequence[TokenSimilarity | None]:
    """Return for each document (a sequence of passages) the similarity of its best passage, in -1..1; None without
    states.

    A passage's similarity is the weighted mean, over the question's tokens, of the similarity of the passage's most
    similar token. A token weighs less the more similar it is to all these documents on average: a name that occurs in
    all of them tells nothing. Half of the value comes from the passage alone; in the other half, tokens of documents in
    `beside` count too, scaled by their share. `alone` is the plain mean.
    """
    passages = _passages(documents)
    if not passages or not question:
        return [None] * len(documents)
    best = _best(question, passages)
    owners = np.array([number for number, _ in passages])
    both = (best + _with_others(best, owners, beside, len(documents))) / 2 if beside else best
    # The passages of a document are consecutive.
    starts = np.flatnonzero(np.diff(owners, prepend=-1))
    among = np.maximum.reduceat(both @ _by_rarity(best), starts).tolist()
    alone = np.maximum.reduceat(best.mean(axis=1), starts).tolist()
    tokens = np.add.reduceat([_count(packed) for _, packed in passages], starts).tolist()
    similar = dict(zip(owners[starts].tolist(), map(TokenSimilarity, among, alone, tokens), strict=True))
    return [similar.get(number) for number in range(len(documents))]


def _passages(documents: Sequence[Sequence[bytes]]) -> Sequence[tuple[int, bytes]]:
    """Return the readable passages, each with the number of its document."""
    return [(number, item) for number, some in enumerate(documents) for item in some if _readable(item)]


def _best(question: "array[float]", passages: Sequence[tuple[int, bytes]]) -> Matrix:
    """Return (passages, tokens of the question): the similarity of the most similar token."""
    question_states = np.frombuffer(question, np.float32).reshape(-1, DIMENSIONS)
    tokens = _AT_ONCE // (DIMENSIONS + len(question_states))
    return np.concatenate([_best_of(question_states, some) for some in _parts(passages, tokens)])


def _parts(passages: Sequence[tuple[int, bytes]], tokens: int) -> Iterator[Sequence[bytes]]:
    """Split the passages into parts of at most `tokens` tokens, or of one passage."""
    part: list[bytes] = []
    left = tokens
    for _, packed in passages:
        left -= _count(packed)
        if part and left < 0:
            yield part
            part, left = [], tokens - _count(packed)
        part.append(packed)
    yield part


def _best_of(question_states: Matrix, part: Sequence[bytes]) -> Matrix:
    counts = np.array([_count(packed) for packed in part])
    states = np.frombuffer(b"".join(packed[1:] for packed in part), np.int8).reshape(-1, DIMENSIONS)
    by_token = (states.astype(np.float32) @ question_states.T) / _SCALE
    best: Matrix = np.maximum.reduceat(by_token, np.concatenate(([0], np.cumsum(counts)[:-1])), axis=0)
    return best


def _with_others(best: Matrix, owners: NDArray[Any], beside: Sequence[Beside], documents: int) -> Matrix:
    """Return `best` with tokens of documents in `beside` included."""
    by_document = np.full((documents, best.shape[1]), -np.inf, np.float32)
    np.maximum.at(by_document, owners, best)
    lent = np.full_like(by_document, -np.inf)
    to, of, share = zip(*beside, strict=True)
    np.maximum.at(lent, np.array(to), by_document[np.array(of)] * np.array(share, np.float32)[:, None])
    either: Matrix = np.maximum(best, lent[owners])
    return either


def _by_rarity(best: Matrix) -> Matrix:
    weights: Matrix = -np.log(np.clip(best.mean(axis=0), _RARE, 0.99))
    shares: Matrix = weights / weights.sum()
    return shares


def _count(packed: bytes) -> int:
    """The number of tokens."""
    return len(packed) // DIMENSIONS


def _readable(packed: bytes) -> bool:
    """True if it has this version and at least one token."""
    return len(packed) > len(VERSION) and packed.startswith(VERSION)
