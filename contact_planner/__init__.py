"""Which contacts, in which order: from a goal to a sequence of contacts and postures."""
