"""Controller node whose solver is slow while the file SLOW_WHILE exists."""

from __future__ import annotations

import os
import time

from multi_qp_controller.qp.solve_cascade import SolveCascade
from multi_qp_ros.nodes import controller_node

solve = SolveCascade.solve


def dawdle(self):
    if os.path.exists(os.environ["SLOW_WHILE"]):
        time.sleep(0.7)
    return solve(self)


SolveCascade.solve = dawdle

if __name__ == "__main__":
    controller_node.main()
