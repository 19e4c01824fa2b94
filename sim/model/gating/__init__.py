"""What a rising edge of the clock does, written anew from what Verilator wrote of it (docs/simulator.md)."""

from sim.model.gating.gates import Gates
from sim.model.gating.statements import NotUnderstood
from sim.model.gating.write import ANEW, EDGE, SOURCE, write_edge

__all__ = ["ANEW", "EDGE", "Gates", "NotUnderstood", "SOURCE", "write_edge"]
