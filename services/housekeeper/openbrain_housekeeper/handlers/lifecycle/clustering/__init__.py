"""Memories that belong together, found partition by partition."""
