"""What a command speaks to: a server, or the engine of this process over the project's own store."""
