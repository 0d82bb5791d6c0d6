"""The two indexes of a recall: which generation serves, its model, queries in time."""
