"""What all of the Python code builds on: the cache of what is generated, and the programs called by name."""
