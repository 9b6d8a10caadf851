"""Records: features and targets from outside, copied, converted and checked once.

`batch` holds records and `take_in`, the one function through which all records enter: sources in
memory, the answers and the `records` of custom sources, files, and validation rows. `cells` sorts
Python objects into numbers, strings and missing values; `columns` converts columns of pandas and
polars to plain columns; `frames` does so for whole frames; `arrays` makes float arrays and targets;
`joins` joins plain frames. `draws` says which records a game uses.

The results hold only types that a run can store and that NumPy, pandas and polars treat alike:
floats and integers of 64 bits, booleans, strings and categories. A value that is converted to a
float must be finite, which is checked after the conversion.
"""
