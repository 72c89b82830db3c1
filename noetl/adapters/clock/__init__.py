"""Time for those who cannot wait for it."""
