"""Export files: writing that can be resumed, and reading that notices a file that was cut off."""
