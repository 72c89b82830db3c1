"""What the engine needs from outside: protocols and plain data. No driver, clock, file or thread."""
