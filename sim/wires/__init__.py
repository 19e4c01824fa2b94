"""The traffic on a machine's wires: frames and files of them, and the wires between nodes."""
