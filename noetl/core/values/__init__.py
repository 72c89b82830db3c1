"""Values of an execution: scopes, writes into them, outputs, redaction. Nothing here knows a step."""
