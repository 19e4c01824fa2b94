/* The machine's memory is not told. */
