"""Workers: an ordered map over chunks of games.

All workers return results in task order and take only a few tasks ahead of the results. They take
tasks in the caller's thread, so that requests to sources, which making a task may need, happen in
order. `local` holds this process, threads and processes; `remote` holds what is common to all
workers in other processes, including the workers of `shapband.cluster`.
"""
