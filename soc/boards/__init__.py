"""The boards: what each has, and the SoC on it."""
