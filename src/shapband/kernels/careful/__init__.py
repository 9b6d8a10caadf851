"""Slow fits and scores in NumPy, for coalitions whose digits the compiled kernels would lose."""
