"""Values of federated clients from the updates of one training run.

`rounds` holds what was recorded of one round of training.
"""
