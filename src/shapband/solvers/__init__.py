"""How the values of the providers in realised games are computed.

A solver takes a chunk of games and returns a `Solution`: the values, the variance of its own
error where it samples, and how many coalitions it evaluated. With groups of providers the values
are Owen values. One algorithm per file; `default` says which are tried if the user names none, and
`trial` decides between them after the first games.
"""
