"""One file a store: what its rows are, and what each means as a line of an export."""
