"""Speed, beside the peers: one file a workload, all of them by `python -m benchmarks` (or `make bench`).

Linear algebra gets one thread. That must be said before NumPy is first imported, hence here.
"""

import os

for _library in ("OPENBLAS", "OMP", "MKL"):
    os.environ[f"{_library}_NUM_THREADS"] = "1"
