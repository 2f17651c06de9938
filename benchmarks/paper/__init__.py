"""The paper's figures and tables, reproduced: `python -m benchmarks.paper all --scale small|full`."""
