"""What `multi-qp com` can do, by its first word; a word that is none of these names a contact sequence."""

from collections.abc import Mapping

#: Module of each subcommand: it has SUMMARY, add_options(parser) and run(options).
SUBCOMMANDS: Mapping[str, str] = {
    "polytopes": "multi_qp_cli.com.polytopes",
    "tables": "multi_qp_cli.com.tables",
}
#: Module that shows a contact sequence, when there is one.
SEQUENCE: str | None = "multi_qp_cli.com.show"
