/* The lesser and the greater of two values of one type; each may be evaluated twice. */
#ifndef LIB_MINMAX_H
#define LIB_MINMAX_H

#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#endif
