"""Rewrites Verilator's function for the rising edge of the clock (docs/simulator.md)."""

from sim.model.gating.activity import Watched
from sim.model.gating.blocks import split_processes
from sim.model.gating.statements import NotUnderstood
from sim.model.gating.watch import profile, watch
from sim.model.gating.write import ANEW, EDGE, SOURCE, WATCHED, write_edge

__all__ = ["ANEW", "EDGE", "NotUnderstood", "SOURCE", "WATCHED", "Watched", "profile", "split_processes", "watch",
           "write_edge"]
