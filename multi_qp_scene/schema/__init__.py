"""Schema of the YAML files, for validation, documentation and loading."""
