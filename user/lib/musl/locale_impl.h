/* musl.h has what musl has here; this is what musl includes beside. */
#include <langinfo.h>
#include <locale.h>
#include <stdlib.h>
