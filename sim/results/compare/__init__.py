"""Two sets of records beside each other: sets.py chooses them, figures.py takes the figures out of a record,
matching.py finds which runs belong together, statistics.py says what a difference is worth, layout.py shows it."""
