"""Commands for the lifecycle of memories: prune, undo, review and others."""
