"""Trace port: one store logs a record."""

from hw.trace.core import TracePort

__all__ = ["TracePort"]
