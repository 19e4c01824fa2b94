"""From a SoC's Verilog to a bitstream for an ECP5, with the open tools, and what came of it in figures."""
