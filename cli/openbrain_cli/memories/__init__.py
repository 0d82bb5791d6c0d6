"""Commands that store, find, change, forget, import and export memories."""
