"""From a SoC's Verilog to a bitstream for an ECP5, with the open tools, and the figures of the result."""
