"""The command line, `multi-qp`: the only place, beside the nodes, where everything comes together."""
