"""Commands of operators: workspaces, keys, operations, the database."""
