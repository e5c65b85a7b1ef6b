"""Contact planner: sequences of contacts and whole-body postures from a goal pose of the base."""
