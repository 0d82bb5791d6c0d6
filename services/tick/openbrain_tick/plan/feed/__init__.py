"""Phases that make what agents read of the pages: feed files, dashboards, health."""
