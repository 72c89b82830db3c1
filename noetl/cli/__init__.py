"""The terminal face: one file per command in commands/.

Commands parse arguments, call the rooms below and print. They decide nothing about playbooks.
"""
