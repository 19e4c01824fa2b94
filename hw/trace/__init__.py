"""Trace port: one store logs a record."""
