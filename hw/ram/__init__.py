"""Main RAM with a latency that software sets, for the simulator."""
