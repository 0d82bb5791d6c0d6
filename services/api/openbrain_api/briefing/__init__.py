"""A brief: what was decided, what is stuck, what changed."""
