"""Everything in memory: for simulations and tests, with the manners of the durable adapters."""
