/* The machine's memory is not reported. */
