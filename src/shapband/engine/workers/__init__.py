"""Workers: an ordered map over chunks of games.

All workers return results in task order and take only a few tasks ahead of the results. They take
tasks in the caller's thread. Making a task may need requests to sources, and so these happen in
order. `local` has workers of this machine: the calling process, threads, or processes. `remote` has
the common part of all workers in other processes, including the workers of `shapband.cluster`.
"""
