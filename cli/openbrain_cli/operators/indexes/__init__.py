"""Commands of operators on search indexes and embedding models."""
