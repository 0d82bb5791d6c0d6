"""Loads the embedded model and the secret rules once, before test workers and commands are forked.

Loading the model takes 0.3 s of CPU time and writes to 280 MB of memory. Its session has one thread and starts none, so
forks may use it. Programs that tests really start load both themselves.
"""

from functools import cache
from pathlib import Path

from openbrain.adapters.embedding import minilm, onnx_sentences
from openbrain.adapters.local.secret_rules import RULES

_session = cache(onnx_sentences.session)
_check_weights = onnx_sentences.check_weights


def load() -> None:
    """Load them for this process and all its forks."""
    RULES.detector()
    if minilm.available():
        path = minilm.installed_weights()
        _check_weights(path, minilm.WEIGHTS_SHA256, minilm.KIND.remedy)

        def check(weights: Path, digest: str, remedy: str) -> None:
            if (weights, digest) != (path, minilm.WEIGHTS_SHA256):
                _check_weights(weights, digest, remedy)

        for name, instead in {"session": _session, "check_weights": check}.items():
            setattr(onnx_sentences, name, instead)
        _session(path, 1)
