"""Playing games: draw records, solve the games in workers, fold the values in game order.

`arguments` checks the arguments and fills in the defaults. `chunks` cuts the games into
the pieces that workers solve. `play` is the loop: it folds solved chunks in game order, checks
the stopping rule and makes the valuation. `journal` is the interface through which solved games
are stored and read back when a run is resumed. The result depends only on the arguments: any number
of workers, any chunk size and any interruption give the same bits.
"""
