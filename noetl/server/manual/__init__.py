"""The documentation as a server shows it."""
