"""Benchmarks of `multi-qp bench`, one module a target: `SUMMARY`, `add_options(parser)` and `run(options)`."""

from __future__ import annotations

#: Targets by name: the module that measures. Imported when the command line is read, so imports must be cheap.
TARGETS: dict[str, str] = {
    "com": "multi_qp_cli.benches.com",
    "plan": "multi_qp_cli.benches.plan",
    "qp": "multi_qp_cli.benches.qp",
    "ros": "multi_qp_cli.benches.ros",
}
