"""Finds memories that belong together, partition by partition."""
