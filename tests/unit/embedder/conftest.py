"""Load the embedded model once for all tests, although each test opens it anew."""

from tests.support.embedder.shared_session import shared_model_session

__all__ = ["shared_model_session"]
