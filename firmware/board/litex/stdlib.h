/* LiteX's memory initialisation asks for this header, and needs nothing from it. */
