"""From scores to the memories that are shown: held against the database, and without echoes."""
