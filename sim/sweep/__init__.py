"""Sweeps: the runs of an experiment carried out side by side, here or on a cluster, from a common boot, over seeds."""
