"""Phases that edit pages: arcs, their heat, their signals, references to them."""
