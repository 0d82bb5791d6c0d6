"""From scores to the memories of an answer: verified with the database, duplicates folded, spread over sessions."""
