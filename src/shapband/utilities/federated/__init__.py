"""Federated training of coalitions: members train locally, and their parameters are averaged.

`rules` has the settings of the training. `training` trains all coalitions of a game with compiled
kernels, `scoring` scores their models on the validation rows, and `evaluation` combines both.
`federated` is the utility made of these, with its `models`; `by_round` remembers its scores after
each round and without each fold. `own` retrains coalitions with functions of the user. `presence`
adds to the summaries of games who is present in each round.
"""
