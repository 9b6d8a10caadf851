"""What users pass to `value`, made into providers, a utility and a sampling.

`tables` makes a source of a data frame, a tuple (X, y) or a file, and `named` makes providers of a
mapping of them. `validation` reads the validation rows, or holds them out of the stocks; `models`
makes the utility of a scikit-learn model, and `draws` chooses a sampling if none is given.
`convert` calls them in this order. Everything here ends before a source is asked.
`file_providers` and `databases` make one provider of each file, or of each value of a column.
"""
