"""A plan carried out: files written by the vault's one writer, signals resolved, memories stored."""
