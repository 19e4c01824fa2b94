/* musl.h has the contents; here are only the headers that musl's includes. */
#include <langinfo.h>
#include <locale.h>
#include <stdlib.h>
