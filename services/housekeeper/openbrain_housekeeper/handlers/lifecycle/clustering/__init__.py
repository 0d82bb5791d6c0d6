"""Clustering of memories, partition by partition."""
