/* The types that musl's headers ask for. */
#include <stddef.h>
#include <sys/types.h>
#ifndef USER_MUSL_ALLTYPES_H
#define USER_MUSL_ALLTYPES_H
typedef ptrdiff_t regoff_t;
#endif
