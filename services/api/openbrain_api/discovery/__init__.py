"""Full-text search, and counts of tags and scopes: by the text index, with hits verified against the database."""
