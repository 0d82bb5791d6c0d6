"""The REST API: one route table, thin handlers, recall in its own package."""
