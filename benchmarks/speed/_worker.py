"""Runs under callgrind: does every workload, and has each counted by itself.

python _worker.py <library made of requests.cpp>
"""

import ctypes
import sys
import warnings

from benchmarks.speed.workloads import WORKLOADS

requests = ctypes.CDLL(sys.argv[1])
warnings.simplefilter("ignore")
for name, make_ready in WORKLOADS.items():
    work = make_ready()
    requests.start_counting()
    work()
    requests.stop_counting(name.encode())
