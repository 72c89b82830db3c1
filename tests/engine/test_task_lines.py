"""What tasks print is read while they run and afterwards, from one place; errors stand below it."""
