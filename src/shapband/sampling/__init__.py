"""Samplings: how the records of each game are drawn.

A sampling is checked against the providers before any request is made. Then `prepare` buys the
pools, if the sampling has any, and returns a `Realisation`, which gives the draws of consecutive
games and has a `Design`: the record of how the games are made, which is stored with the result and
says how games depend on each other.
"""
