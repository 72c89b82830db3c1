"""What every link between workers and servers shares: requests, their handlers, errors, uploads, secrets."""
