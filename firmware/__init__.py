"""The boot ROM."""
