"""Token states: what they are and how they are compared; how their projection was learned."""
