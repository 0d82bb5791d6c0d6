"""A harness that tries to make the pipeline lose something, and a verifier that counts."""
