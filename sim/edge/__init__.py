"""What a rising edge of the clock does, written anew from what Verilator wrote of it (docs/simulator.md)."""

from sim.edge.statements import NotUnderstood
from sim.edge.write import EDGE, SOURCE, write_edge

__all__ = ["EDGE", "NotUnderstood", "SOURCE", "write_edge"]
