"""The embedded model is read once: each test opens it anew."""

from tests.support.embedder.shared_session import shared_model_session

__all__ = ["shared_model_session"]
