"""One module per store: how to read its rows, and how to convert each to a line of an export."""
