"""Phases that derive the files for agents from the pages: feed files, dashboards, health."""
