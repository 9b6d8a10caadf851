"""How the values of the providers in realised games are computed.

A solver takes a chunk of games and returns a `Solution`: the values, the variance of its own
error where it samples, and how many coalitions it evaluated. One algorithm per file.
"""
