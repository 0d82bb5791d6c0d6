"""An index compared with the database: what differs, and what becomes of it."""
