"""Interrupts at given intervals."""
