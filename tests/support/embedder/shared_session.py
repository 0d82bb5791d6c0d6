"""The embedded model is loaded once per process: systems that a test starts and stops share one onnxruntime session."""

from collections.abc import Iterator
from functools import cache

import pytest

from openbrain.adapters.embedding import onnx_sentences


@pytest.fixture(scope="session", autouse=True)
def shared_model_session() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(onnx_sentences, "session", cache(onnx_sentences.session))
        yield
