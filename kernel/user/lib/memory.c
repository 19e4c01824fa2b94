/* The kernel's memcpy and memset for programs, too: picolibc's go byte by byte, and its malloc clears what it gives. */
#include "lib/memory.c"
