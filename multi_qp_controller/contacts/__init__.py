"""Contacts: no-slip rows, friction cones, landing, support polygon."""
