/* What musl's resolver needs beside its own, and what it finds where a machine has no files of names. */
#include <errno.h>
#include <net/if.h>
#include <string.h>

#include "lookup.h"
#include "stdio_impl.h"

static const struct {
    const char *path, *text;
} builtin[] = {
    {"/etc/hosts", "127.0.0.1 localhost\n"},
    {"/etc/services", "echo 7/tcp\necho 7/udp\ndiscard 9/tcp\ndiscard 9/udp\nssh 22/tcp\ntelnet 23/tcp\ndomain 53/tcp\n"
                      "domain 53/udp\nhttp 80/tcp\nsunrpc 111/tcp\nsunrpc 111/udp\nhttps 443/tcp\nnfs 2049/tcp\n"
                      "nfs 2049/udp\n"},
};

static _Thread_local int number;

int *__h_errno_location(void)
{
    return &number;
}

/* Only scopes of IPv6 have an interface's number. */
unsigned if_nametoindex(const char *name)
{
    (void)name;
    errno = ENXIO;
    return 0;
}

char *if_indextoname(unsigned index, char *name)
{
    (void)index, (void)name;
    errno = ENXIO;
    return NULL;
}

static size_t read_end(FILE *f, unsigned char *to, size_t size)
{
    (void)to, (void)size;
    f->flags |= F_EOF;
    return 0;
}

static int close_nothing(FILE *f)
{
    (void)f;
    return 0;
}

FILE *musl_fopen_rb_ca(const char *path, FILE *f, unsigned char *buffer, size_t size);

/* Opens a file in the caller's memory to read it, or what is built in. */
FILE *__fopen_rb_ca(const char *path, FILE *f, unsigned char *buffer, size_t size)
{
    FILE *opened = musl_fopen_rb_ca(path, f, buffer, size);
    for (unsigned i = 0; !opened && i < sizeof builtin / sizeof *builtin; i++)
        if (!strcmp(path, builtin[i].path) && strlen(builtin[i].text) <= size - UNGET) {
            memset(f, 0, sizeof *f);
            f->fd = f->lock = -1;
            f->flags = F_NOWR | F_PERM;
            f->buf = f->rpos = buffer + UNGET;
            f->buf_size = size - UNGET;
            f->rend = f->rpos + strlen(builtin[i].text);
            memcpy(f->buf, builtin[i].text, strlen(builtin[i].text));
            f->read = read_end;
            f->close = close_nothing;
            opened = f;
        }
    return opened;
}

int musl_get_resolv_conf(struct resolvconf *conf, char *search, size_t size);

/* If the file is missing, musl asks this host for ten seconds: nothing is asked, and the name is EAI_AGAIN at once. */
int __get_resolv_conf(struct resolvconf *conf, char *search, size_t size)
{
    int error = musl_get_resolv_conf(conf, search, size);
    if (!error && access("/etc/resolv.conf", R_OK))
        conf->timeout = 0;
    return error;
}
