"""Reading a log: why, progress, timeline, provenance, comparison. Nothing here decides anything."""
