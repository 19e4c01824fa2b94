"""The version of Interlock. The command line, records, reports and the kernel's banner take it from here; CITATION.cff
and CHANGELOG.md name it, and a test compares."""

VERSION = "0.1.0"
