"""Between the target and the host that runs it."""
