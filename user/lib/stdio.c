/*
 * What picolibc's stdio lacks: stdin, stdout and stderr on descriptors 0 to 2, and a list of open streams, so that
 * fflush(0) and exit write out what is buffered.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio-bufio.h>
#include <stdlib.h>
#include <sys/queue.h>
#include <unistd.h>

#include "user/lib/locks.h"

#define STANDARD_SIZE 512

struct stream {
    struct __file_bufio bufio; /* first: __bufio_close frees it */
    LIST_ENTRY(stream) link;
};

static LIST_HEAD(, stream) streams;
static volatile uint32_t guard; /* a futex lock: guards the list */

int __posix_sflags(const char *mode, int *open_flags); /* picolibc's: the stream's flags for fopen's mode, or 0 */

static void enlist(struct stream *s)
{
    futex_lock(&guard);
    LIST_INSERT_HEAD(&streams, s, link);
    futex_unlock(&guard);
}

static void unlist(struct stream *s)
{
    futex_lock(&guard);
    LIST_REMOVE(s, link);
    futex_unlock(&guard);
}

static int stream_close(FILE *file)
{
    unlist((struct stream *)file);
    return __bufio_close(file);
}

/* Standard streams are not freed, and can be closed twice. */
static int standard_close(FILE *file)
{
    struct __file_bufio *b = (struct __file_bufio *)file;
    int result = __bufio_flush(file);
    if (b->fd >= 0 && b->close(b->fd))
        result = EOF;
    b->fd = -1;
    return result;
}

#define STANDARD(name, number, direction, buffering)                                                   \
    static char name##_buffer[STANDARD_SIZE];                                                          \
    static struct __lock name##_lock;                                                                  \
    static struct __file_bufio name##_stream = {                                                       \
        .xfile = FDEV_SETUP_EXT(__bufio_put, __bufio_get, __bufio_flush, standard_close, __bufio_seek, \
                                __bufio_setvbuf, (direction) | __SBUF),                                \
        .fd = number,                                                                                  \
        .bflags = buffering,                                                                           \
        .buf = name##_buffer,                                                                          \
        .size = STANDARD_SIZE,                                                                         \
        .read = read,                                                                                  \
        .write = write,                                                                                \
        .lseek = lseek,                                                                                \
        .close = close,                                                                                \
        .lock = &name##_lock,                                                                          \
    };                                                                                                 \
    FILE *const name = &name##_stream.xfile.cfile.file

STANDARD(stdin, STDIN_FILENO, __SRD, 0);
STANDARD(stdout, STDOUT_FILENO, __SWR, __BLBF);
STANDARD(stderr, STDERR_FILENO, __SWR, __BLBF);

FILE *fdopen(int fd, const char *mode)
{
    int open_flags, flags = __posix_sflags(mode, &open_flags);
    if (!flags)
        return 0;
    struct stream *s = calloc(1, sizeof *s);
    char *buffer = malloc(BUFSIZ);
    if (!s || !buffer) {
        free(s);
        free(buffer);
        errno = ENOMEM;
        return 0;
    }
    s->bufio = (struct __file_bufio)FDEV_SETUP_BUFIO(fd, buffer, BUFSIZ, read, write, lseek, close, flags, __BALL);
    s->bufio.xfile.cfile.close = stream_close;
    FILE *file = &s->bufio.xfile.cfile.file;
    __bufio_lock_init(file);
    if (!s->bufio.lock) {
        free(s);
        free(buffer);
        errno = ENOMEM;
        return 0;
    }
    enlist(s);
    if (open_flags & O_APPEND)
        fseeko(file, 0, SEEK_END);
    return file;
}

static int flush_all(void)
{
    int result = fflush(stdout) | fflush(stderr);
    futex_lock(&guard);
    struct stream *s;
    LIST_FOREACH(s, &streams, link)
        if (s->bufio.xfile.cfile.file.flags & __SWR)
            result |= __bufio_flush(&s->bufio.xfile.cfile.file);
    futex_unlock(&guard);
    return result ? EOF : 0;
}

int fflush(FILE *file)
{
    if (!file)
        return flush_all();
    return file->flush ? file->flush(file) : 0;
}

int vdprintf(int fd, const char *format, va_list values)
{
    char *text;
    int length = vasprintf(&text, format, values);
    if (length < 0)
        return length;
    int done = 0;
    for (ssize_t n; done < length; done += n)
        if ((n = write(fd, text + done, (size_t)(length - done))) < 0) {
            done = -1;
            break;
        }
    free(text);
    return done;
}

int dprintf(int fd, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    int n = vdprintf(fd, format, values);
    va_end(values);
    return n;
}

ssize_t getdelim(char **line, size_t *size, int delimiter, FILE *stream)
{
    size_t length = 0;
    int c;
    do {
        c = getc(stream);
        if (!*line || length + 1 >= *size) { /* room for the character and the final 0 */
            size_t wanted = *line && *size ? *size * 2 : 120;
            char *more = realloc(*line, wanted);
            if (!more)
                return -1;
            *line = more;
            *size = wanted;
        }
        if (c != EOF)
            (*line)[length++] = (char)c;
    } while (c != EOF && c != delimiter);
    (*line)[length] = 0;
    return length ? (ssize_t)length : -1;
}

ssize_t getline(char **line, size_t *size, FILE *stream)
{
    return getdelim(line, size, '\n', stream);
}

__attribute__((destructor)) static void flush_at_exit(void)
{
    flush_all();
}
