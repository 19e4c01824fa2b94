"""The host's end of a board: its link (firmware/protocol.h), the loader's work, and runs that leave records."""
