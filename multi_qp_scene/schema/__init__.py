"""The one schema: it validates the YAML, documents it, and is what the loaders read."""
