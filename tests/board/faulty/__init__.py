"""The simulated board with an SD card and an Ethernet PHY, in which one fault can be planted for a run."""
