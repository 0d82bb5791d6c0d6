"""`openbrain top`: the pipeline at a glance."""
