"""What holds for all tests."""

import os

# before numpy is imported: two threads for small matrices cost ten times the processor time of one
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
