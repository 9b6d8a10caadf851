"""What users pass to `value`, `plan`, `bill` and `next_batch`, made into providers and a utility.

`tables` makes a source of a data frame, a tuple (X, y) or a file, and `named` makes providers of a
mapping of them. `validation` reads the validation rows, or holds them out of the stocks; `models`
makes the utility of a scikit-learn model. `convert` calls them in this order. `draws` chooses a
sampling if none is given. Everything here ends before a source is asked.
`file_providers` and `databases` make one provider of each file, or of each value of a column.
"""
