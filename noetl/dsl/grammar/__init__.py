"""The grammar: which keys stand where, what each must be, the check of a tree, and the schema for editors."""
