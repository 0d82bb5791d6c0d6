"""Markdown read as memories: frontmatter, sections, links, chunks."""
