"""Commands that store, find, change, end, import and export memories."""
