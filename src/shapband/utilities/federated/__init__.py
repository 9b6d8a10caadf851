"""Federated training of coalitions: members train locally, and their parameters are averaged.

`rules` holds the settings of the training, `training` trains all coalitions of a game with the
kernels, and `scoring` scores their models on the validation rows. `federated` is the utility made
of these, with its `models`. `own` retrains coalitions with functions of the user. `presence` adds
to the summaries of games who is present in each round.
"""
