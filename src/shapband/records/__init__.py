"""Records: features and targets from outside, copied, converted and checked once.

`batch` holds records and `take_in`, the one function that every path from outside uses: sources in
memory, the answers and the `records` of custom sources, files, and validation rows. `cells` sorts
Python objects into numbers, strings and missing values; `columns` makes plain columns of those of
pandas and polars; `frames` does so for whole frames; `arrays` makes float arrays and targets;
`joins` joins plain frames. `draws` says which records a game uses.

What comes out holds only what a run can store and what NumPy, pandas and polars compute without
surprises: floats of 64 bits, integers of 64 bits, booleans, strings and categories. A value that is
converted to a float is checked after the conversion: it must be finite.
"""
