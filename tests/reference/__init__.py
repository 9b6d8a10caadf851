"""Every compiled kernel once more, in readable NumPy: the tests compare the two."""
