"""Workers: an ordered map over chunks of games.

Every kind of workers gives results in task order, takes tasks a few ahead and never all at once,
and takes them in the caller's thread, so that what making a task asks of the sources happens in
order. `local` holds this process, threads and processes; `remote` is what all workers in
other processes have in common, those of `shapband.cluster` included.
"""
