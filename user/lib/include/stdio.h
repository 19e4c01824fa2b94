/* picolibc's, and what it lacks. A stream's functions lock it themselves; nothing holds that lock longer. */
#ifndef USER_STDIO_H
#define USER_STDIO_H

#include_next <stdio.h>

#include <stdarg.h>
#include <sys/types.h>

#ifndef FILENAME_MAX
#define FILENAME_MAX 256 /* USER_PATH_SIZE */
#endif

#define getc_unlocked(stream) getc(stream)
#define getchar_unlocked() getchar()
#define putc_unlocked(c, stream) putc(c, stream)
#define putchar_unlocked(c) putchar(c)
#define flockfile(stream) ((void)(stream))
#define funlockfile(stream) ((void)(stream))

int renameat(int directory, const char *path, int new_directory, const char *new_path);
FILE *popen(const char *command, const char *mode);
int pclose(FILE *stream);
int dprintf(int fd, const char *format, ...) __attribute__((format(printf, 2, 3)));
int vdprintf(int fd, const char *format, va_list values);
ssize_t getdelim(char **line, size_t *size, int delimiter, FILE *stream);
ssize_t getline(char **line, size_t *size, FILE *stream);
#endif
