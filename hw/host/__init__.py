"""Between the target and whoever runs it."""
