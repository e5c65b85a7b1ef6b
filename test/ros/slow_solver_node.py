"""The controller's node with a solver that dawdles while a file exists: its path is in SLOW_WHILE."""

from __future__ import annotations

import os
import sys
import time

from multi_qp_controller import controller_node
from multi_qp_controller.ladder import Ladder

solve = Ladder.solve


def dawdle(self):
    if os.path.exists(os.environ["SLOW_WHILE"]):
        time.sleep(0.7)
    return solve(self)


Ladder.solve = dawdle

if __name__ == "__main__":
    sys.exit(controller_node.main())
