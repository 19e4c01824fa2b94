"""What a rising edge of the clock does, written anew from what Verilator wrote of it (docs/simulator.md)."""

from sim.edge.gates import Gates
from sim.edge.statements import NotUnderstood
from sim.edge.write import ANEW, EDGE, SOURCE, write_edge

__all__ = ["ANEW", "EDGE", "Gates", "NotUnderstood", "SOURCE", "write_edge"]
