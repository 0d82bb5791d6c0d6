"""In-memory index of the standing queries of a workspace, for matching a memory."""
