"""What all Python code builds on: the cache of generated files, and the programs called by name."""
