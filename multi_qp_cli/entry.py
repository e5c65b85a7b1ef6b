"""Entry point that handles Ctrl-C also during the imports, which take a second."""

from __future__ import annotations

import sys


def main() -> int:
    """Run the command line and return its exit status."""
    try:
        from multi_qp_cli.main import main as run

        return run()
    except KeyboardInterrupt:
        print("multi-qp: interrupted", file=sys.stderr)
        return 1
