"""Command line `multi-qp`: commands that combine the other packages, as do the ROS nodes."""

import os

# The matrices are small: BLAS threads slow the tick down, up to tenfold on a loaded machine. The variable must be set
# before numpy is first imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
