"""A block device's controller: programmed I/O and DMA."""
