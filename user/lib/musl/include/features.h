/* For headers and programs that include it: musl's headers declare what BSD has unless only ISO C is wanted. */
#if !defined(_BSD_SOURCE) && !defined(__STRICT_ANSI__)
#define _BSD_SOURCE 1
#endif
