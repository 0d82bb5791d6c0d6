"""Records read as memories: CSV, NDJSON, JSON, exports of other memory systems."""
