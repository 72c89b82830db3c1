"""The control plane: loads, folds, decides, commits and dispatches. It starts steps; it runs none."""
