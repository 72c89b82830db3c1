"""Values of an execution: scopes, writes into them, outputs, what is too large, redaction. Knows no step."""
