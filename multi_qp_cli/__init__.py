"""The command line, `multi-qp`: the only place, beside the nodes, where everything comes together."""

import os

# The matrices are small: threads of the linear algebra library cost more than they give, up to tenfold on a busy
# machine. This has to be said before numpy is first imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
