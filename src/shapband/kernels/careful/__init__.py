"""Slower fits and scores in NumPy, for coalitions that compiled kernels would round too much."""
