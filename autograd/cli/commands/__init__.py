"""The commands, one module each: `register` adds it to the parser, `run` does the work."""
