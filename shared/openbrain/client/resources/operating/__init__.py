"""Client methods for operators: keys and workspaces, indexes, models, lifecycle, streams."""
