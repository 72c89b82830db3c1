"""The language: playbook text in, checked and frozen playbook out.

Everything here computes from its arguments alone. No clock, files, network, logging or threads.
"""
