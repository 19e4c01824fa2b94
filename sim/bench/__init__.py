"""How fast the simulator is, beside LiteX's own: `python -m sim.bench` (docs/simulator.md)."""
