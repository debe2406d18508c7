"""What `make test` holds besides results: imports, names, lines reached."""
