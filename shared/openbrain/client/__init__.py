"""The typed client of the REST API: over HTTP, or in process over ASGI by handing it a transport."""

from openbrain.client.arguments import Changes, Filters, NewKey, Quotas
from openbrain.client.brain import Offer, OpenBrain

__all__ = ["Changes", "Filters", "NewKey", "Offer", "OpenBrain", "Quotas"]
