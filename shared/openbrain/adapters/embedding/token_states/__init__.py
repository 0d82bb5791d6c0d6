"""Token states: their format and comparison, and how their projection was learned."""
