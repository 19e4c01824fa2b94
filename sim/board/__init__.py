"""The host's end of a board: its link (firmware/protocol.h), loading, and runs that leave records."""
