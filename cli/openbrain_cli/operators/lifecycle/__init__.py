"""prune, undo, review and what else looks after a memory's whole life."""
