"""The result of a valuation, and the questions it answers.

`valuation` is the record; `several` answers questions about several providers at once, `spread`
about single games, `groups` about groups of providers, `compare` about two valuations; `text`
prints it.
"""
