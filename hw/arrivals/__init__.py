"""Interrupts at intervals that are given."""
