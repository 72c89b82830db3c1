"""The product over this process's engine and store, as ports/front.py says it: one file per part of it."""
