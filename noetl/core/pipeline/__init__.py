"""The pipeline of one step run, as a generator that a worker or a server drives: tasks, policies, loops."""
