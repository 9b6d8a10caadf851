"""Tables in files, read row by row.

`addresses` finds the files at a path, a pattern or an address such as ``s3://bucket/lake``, and
opens them. `dialects` finds how a CSV file is written, and `csv_parts` reads it in parts. `stores`
reads Parquet row groups, Arrow batches and CSV parts by the same methods. `columns` gives the
columns of all files one type each, and `rows` takes rows out of a store, sorted and grouped by the
part that holds them. `copies` keeps Arrow copies of tables in the user's cache.

`sources.files` reads whole files, and `sources.file_source` has the source.
"""
