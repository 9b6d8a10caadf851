"""Leaves out the doctests of shapband.flower if flwr is not installed; tests/flower says so."""

import importlib.util

if importlib.util.find_spec("flwr") is None:
    collect_ignore = ["shapband/flower"]
