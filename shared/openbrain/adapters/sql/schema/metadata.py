"""The one set that all tables of the truth belong to, and how their indexes are named."""

from sqlalchemy import MetaData

metadata = MetaData(
    naming_convention={"ix": "ix_%(table_name)s_%(column_0_N_name)s", "uq": "uq_%(table_name)s_%(column_0_N_name)s"}
)
