"""Entry point that handles Ctrl-C and SIGTERM also during the imports, which take a second."""

from __future__ import annotations

import signal
import sys


def main() -> int:
    """Run the command line and return its exit status; SIGTERM has the effect of Ctrl-C: what is open is closed."""
    if signal.getsignal(signal.SIGTERM) == signal.SIG_DFL:
        signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        from multi_qp_cli.main import main as run

        return run()
    except KeyboardInterrupt:
        print("multi-qp: interrupted", file=sys.stderr)
        return 1
