/* What the program toucher and the test that drives it (test/shootdown.c) agree on. */
#ifndef USER_PROGRAMS_TOUCHER_H
#define USER_PROGRAMS_TOUCHER_H

#define TOUCHER_NAMED 0x30000000u /* a page of an object that the test maps, too */
#define TOUCHER_OWN 0x30001000u   /* a zero-filled one */
#define TOUCHER_STOP 0x30002000u  /* a word that ends it; mapped last */
#define TOUCHER_WRITE 0x30010000u   /* a page that is written here, */
#define TOUCHER_EXECUTE 0x30020000u /* and executed here: the same page, in toucher's other mode */
#define TOUCHER_CODE 16           /* bytes of a thread's instructions; the next one's are beside them */
#define TOUCHER_STRIDE 64         /* bytes from one thread's word to the next one's */
#define TOUCHER_MOST 8
#endif
