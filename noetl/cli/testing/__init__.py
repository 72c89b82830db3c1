"""What `noetl test` is made of: finding test files, running them, telling how it went, recording."""
