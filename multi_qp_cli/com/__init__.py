"""Subcommands of `multi-qp com`; any other argument is the name of a contact sequence."""

from collections.abc import Mapping

#: Module of each subcommand: it has SUMMARY, add_options(parser) and run(options).
SUBCOMMANDS: Mapping[str, str] = {
    "polytopes": "multi_qp_cli.com.polytopes",
    "tables": "multi_qp_cli.com.tables",
}
#: Module that plans and shows a contact sequence, if there is one.
SEQUENCE: str | None = "multi_qp_cli.com.show"
