"""The model: Verilog to a program that simulates it (build.py), and how it is made fast (gating, idle.py)."""
