"""16550-class serial port."""
