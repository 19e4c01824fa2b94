"""Experiments: one declarative TOML file each, read and checked by :mod:`sim.experiments.definition`."""
