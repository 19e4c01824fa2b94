/* What LiteX's memory initialisation wants from a C library. */
#include "../console.h"

#define printf print
