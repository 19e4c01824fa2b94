/* Processes are all of one kind. */
#define PER_LINUX32 8
int personality(unsigned long kind);
