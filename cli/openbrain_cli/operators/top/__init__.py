"""`openbrain top`: an overview of the pipeline."""
