"""Workers on clusters: Dask and Ray. Both are imported when they are used."""
