"""Files that agents left behind, as memories: pure functions from files to `Found`, and from `Found` to a plan."""
