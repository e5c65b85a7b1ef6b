"""`python -m multi_qp_cli`: the command line where the script is not on the path."""

import sys

from multi_qp_cli.entry import main

sys.exit(main())
