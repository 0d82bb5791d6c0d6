"""Word-by-word comparison of a question with memories: for ranking, and as an absolute similarity."""
