"""What the stores over SQL have in common; a database is named nowhere here."""
