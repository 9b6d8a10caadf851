"""Samplings: how the records of each game are drawn.

A sampling is checked against the providers before any request is made. Then `prepare` buys the
pools, if the sampling has any, and returns a `Realisation`, which gives the draws of consecutive
games. The attributes of a realisation (draw sizes, pool sizes, target, groups) tell the moments
what they estimate.
"""
