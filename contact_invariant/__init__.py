"""Contact-invariant optimisation: contacts and motion together, from task terms alone, [Mordatch2012]."""
