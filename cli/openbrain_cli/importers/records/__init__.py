"""Reads records as memories: CSV, NDJSON, JSON, exports of other memory systems."""
