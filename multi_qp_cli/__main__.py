"""Entry point of `python -m multi_qp_cli`, for when the script `multi-qp` is not on the path."""

import sys

from multi_qp_cli.entry import main

sys.exit(main())
