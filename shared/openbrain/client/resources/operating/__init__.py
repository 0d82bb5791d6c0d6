"""What operators do: keys and workspaces, indexes, models, streams."""
