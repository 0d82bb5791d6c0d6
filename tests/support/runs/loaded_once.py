"""What is loaded once, by the process that others are forked from: the embedded model and the rules for secrets.

A model takes 0.3 s of processor and writes to 280 MB of memory. Its session of one thread has no threads of its own, so
forks may use it. Programs that are really started load both themselves.
"""

from functools import cache
from pathlib import Path

from openbrain.adapters.embedding import minilm, onnx_sentences
from openbrain.adapters.local.secret_rules import RULES

_session = cache(onnx_sentences.session)
_check_weights = onnx_sentences.check_weights


def load() -> None:
    """For this process and all that are forked from it."""
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
