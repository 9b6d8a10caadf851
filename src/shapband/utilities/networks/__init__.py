"""Small neural networks: the utility, how one is trained, and the line search of the training."""
