"""Tables of other memory stores, made into the lines of an export."""
