"""The pipeline in one process on embedded parts."""
