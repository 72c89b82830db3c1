"""Everything in the process's own memory: for simulations and tests, with the manners of the durable adapters."""
