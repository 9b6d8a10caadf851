"""How games are realised.

A sampling is checked against the providers before anything is asked of them, then prepared: it
buys its pools, if it has any, and becomes a `Realisation`, which gives the draws of any run of
consecutive games. What a realisation says of itself (draw sizes, pool sizes, target, groups) is
what the moments need in order to estimate the right thing.
"""
