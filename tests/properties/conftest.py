"""Fixtures of the delivery properties: systems in this process share the embedded model."""

from tests.support.embedder.shared_session import shared_model_session

__all__ = ["shared_model_session"]
