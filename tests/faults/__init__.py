"""A harness that injects faults to make the pipeline lose data, and a verifier that compares the result with the
writes."""
