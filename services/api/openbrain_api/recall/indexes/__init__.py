"""The two indexes of a recall: serving generation, its model, searches with a timeout."""
