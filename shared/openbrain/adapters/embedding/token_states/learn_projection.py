"""Learn the projection of token states: python -m openbrain.adapters.embedding.token_states.learn_projection FILE

The training texts are 800 paragraphs of the language reference shipped with Python (`pydoc_data`, PSF License). MiniLM
reads them; the 64 main directions of the states of their content tokens are kept, as 16-bit floats. The shipped file
was made by Python 3.11.
"""

import random
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from pydoc_data.topics import topics
from typing import Any

import numpy as np
from numpy.typing import NDArray

from openbrain.adapters.embedding.minilm import KIND, installed_weights
from openbrain.adapters.embedding.onnx_sentences import run, session
from openbrain.adapters.embedding.token_states.states import DIMENSIONS, content_tokens
from openbrain.adapters.embedding.wordpiece import framed, ids

PARAGRAPHS = 800
SEED = 1


def paragraphs() -> list[str]:
    """Return paragraphs of prose, without code, in a reproducible order."""
    parts = [re.sub(r"\s+", " ", part).strip() for text in topics.values() for part in re.split(r"\n\s*\n", text)]
    prose = [item for item in parts if 60 < len(item) < 1200 and _letters(item) > 0.85 * len(item)]
    random.Random(SEED).shuffle(prose)  # noqa: S311 - a choice of samples
    return prose[:PARAGRAPHS]


def learn() -> NDArray[Any]:
    """Learn the shipped projection again: (dimensions of the model, 64) in 16-bit floats."""
    return main_directions(np.concatenate(list(_states())))


def main_directions(states: NDArray[Any]) -> NDArray[Any]:
    """Return the main directions of states of shape (states, dimensions) as (dimensions, 64), the strongest first."""
    states = states / np.linalg.norm(states, axis=1, keepdims=True)
    _, directions = np.linalg.eigh(states.T @ states)
    return directions[:, ::-1][:, :DIMENSIONS].astype("<f2")


def _states() -> Iterator[NDArray[Any]]:
    model, most = session(installed_weights(), 1), KIND.model.token_limit - 2
    for text in paragraphs():
        states, tokens = run(model, [framed(ids(text)[:most])])
        yield states[content_tokens()[tokens]].astype(np.float64)


def _letters(text: str) -> int:
    return sum(item.isalpha() or item == " " for item in text)


if __name__ == "__main__":
    Path(sys.argv[1]).write_bytes(learn().tobytes())
