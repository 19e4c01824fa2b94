/* What musl's resolver needs beside its own, and what it finds where a machine has no files of names. */
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

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

/* Asks about an interface; 0, or -1 and errno. */
static int ask(unsigned long request, void *about)
{
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    if (fd < 0)
        return -1;
    int result = ioctl(fd, request, about), was = errno;
    close(fd);
    errno = result && was == ENODEV ? ENXIO : was;
    return result;
}

unsigned if_nametoindex(const char *name)
{
    struct ifreq of = {0};
    strncpy(of.ifr_name, name, sizeof of.ifr_name);
    return ask(SIOCGIFINDEX, &of) ? 0 : (unsigned)of.ifr_ifindex;
}

char *if_indextoname(unsigned index, char *name)
{
    struct ifreq of = {.ifr_ifindex = (int)index};
    return ask(SIOCGIFNAME, &of) ? NULL : strcpy(name, of.ifr_name);
}

/* All interfaces, and how many; 0: errno says why. */
static struct ifreq *all_interfaces(unsigned *count)
{
    struct ifconf list = {0};
    struct ifreq *of = ask(SIOCGIFCONF, &list) ? 0 : malloc((size_t)list.ifc_len);
    list.ifc_req = of;
    if (of && ask(SIOCGIFCONF, &list)) {
        free(of);
        of = 0;
    }
    *count = of ? (unsigned)list.ifc_len / sizeof *of : 0;
    return of;
}

struct if_nameindex *if_nameindex(void)
{
    unsigned count;
    struct ifreq *of = all_interfaces(&count);
    struct if_nameindex *all = of ? calloc(1, (count + 1) * (sizeof *all + IFNAMSIZ)) : 0;
    char *names = all ? (char *)(all + count + 1) : 0;
    for (unsigned i = 0; all && i < count; i++) {
        all[i].if_name = memcpy(names + i * IFNAMSIZ, of[i].ifr_name, IFNAMSIZ);
        all[i].if_index = if_nametoindex(of[i].ifr_name);
    }
    free(of);
    return all;
}

void if_freenameindex(struct if_nameindex *all)
{
    free(all);
}

struct described {
    struct ifaddrs of;
    struct sockaddr_in address, mask, broadcast;
    char name[IFNAMSIZ];
};

static struct sockaddr *asked(unsigned long request, const char *name, struct sockaddr_in *to)
{
    struct ifreq about = {0};
    strncpy(about.ifr_name, name, IFNAMSIZ);
    if (ask(request, &about))
        return 0;
    memcpy(to, &about.ifr_addr, sizeof *to);
    return (struct sockaddr *)to;
}

int getifaddrs(struct ifaddrs **all)
{
    unsigned count;
    struct ifreq *of = all_interfaces(&count);
    struct described *d = of ? calloc(count ? count : 1, sizeof *d) : 0;
    for (unsigned i = 0; d && i < count; i++) {
        struct ifreq about = of[i];
        memcpy(d[i].name, of[i].ifr_name, IFNAMSIZ);
        d[i].of.ifa_name = d[i].name;
        d[i].of.ifa_flags = ask(SIOCGIFFLAGS, &about) ? 0 : (unsigned short)about.ifr_flags;
        d[i].of.ifa_addr = asked(SIOCGIFADDR, d[i].name, &d[i].address);
        d[i].of.ifa_netmask = asked(SIOCGIFNETMASK, d[i].name, &d[i].mask);
        if (d[i].of.ifa_flags & IFF_BROADCAST)
            d[i].of.ifa_broadaddr = asked(SIOCGIFBRDADDR, d[i].name, &d[i].broadcast);
        d[i].of.ifa_next = i + 1 < count ? &d[i + 1].of : 0;
    }
    free(of);
    *all = d && count ? &d->of : 0;
    return d ? 0 : -1;
}

void freeifaddrs(struct ifaddrs *all)
{
    free(all);
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
