/* What LiteX's memory initialisation needs of a C library. */
#include "../console.h"

#define printf print
