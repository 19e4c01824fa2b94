/* The last header of toys.h, which has a function named as one of picolibc's. */
#define itoa toybox_itoa
#ifndef _PATH_DEFPATH
#define _PATH_DEFPATH "/bin"
#endif
#ifndef IUTF8
#define IUTF8 0
#endif
