/* Pseudo-terminals are not opened. */
