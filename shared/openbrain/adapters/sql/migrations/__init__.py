"""The schema's steps, run by `schema_commands`; each stands as it was when it was released."""
