"""Benchmarks of `multi-qp bench`, one module a target: `SUMMARY`, `add_options(parser)` and `run(options)`."""

from __future__ import annotations

#: Module of each target. It is imported with the command-line parser, so its imports must be cheap.
TARGETS: dict[str, str] = {
    "com": "multi_qp_cli.benches.com",
    "modal": "multi_qp_cli.benches.modal",
    "modal-runs": "multi_qp_cli.benches.modal_runs",
    "modal-edits": "multi_qp_cli.benches.modal_edits",
    "plan": "multi_qp_cli.benches.plan",
    "qp": "multi_qp_cli.benches.qp",
    "ros": "multi_qp_cli.benches.ros",
    "upper_body": "multi_qp_cli.benches.upper_body",
    "walking": "multi_qp_cli.benches.walking",
}
