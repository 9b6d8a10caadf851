"""How far values from recorded updates are from exact ones, measured on many federated runs.

`clients` draws the data of clients that differ in one way, `training` trains every coalition
exactly, with plain NumPy, and records the run of everybody, `measure` compares the methods of
`value_recorded` with the exact values, `odd_clients` does so with a client that harms or cheats,
`summary` reduces the results, and `page` writes docs/federated-errors.md and the numbers that
results of the library state.
"""
