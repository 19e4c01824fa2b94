/* The list of routes, as route and netstat print it. */
#ifndef COMMANDS_ROUTES_H
#define COMMANDS_ROUTES_H

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "user/abi.h"

#define SPARE 8 /* entries that come between two calls */

/* The whole list of a request, in memory of its own, and how many entries it has; 0: errno says why. */
static inline void *list_of(int fd, unsigned long request, size_t size, unsigned *count)
{
    struct user_list list = {0};
    void *all = 0;
    *count = 0;
    if (!ioctl(fd, request, &list) && (all = calloc(list.count + SPARE, size))) {
        list.to = (uint32_t)(uintptr_t)all;
        list.most = list.count + SPARE;
        if (ioctl(fd, request, &list)) {
            free(all);
            return 0;
        }
        *count = list.count < list.most ? list.count : list.most;
    }
    return all;
}

static inline const char *ip_text(uint32_t ip, char *to)
{
    return inet_ntop(AF_INET, &ip, to, 16);
}

/* 0, or -1 after printing why not. */
static inline int print_routes(int fd, const char *command)
{
    static const struct {
        uint32_t flag;
        char letter;
    } letters[] = {{USER_RTF_UP, 'U'},      {USER_RTF_GATEWAY, 'G'},  {USER_RTF_HOST, 'H'},
                   {USER_RTF_DYNAMIC, 'D'}, {USER_RTF_MODIFIED, 'M'}, {USER_RTF_REJECT, '!'}};
    unsigned count;
    struct user_route *all = list_of(fd, USER_SIOCROUTES, sizeof *all, &count);
    if (!all) {
        fprintf(stderr, "%s: %s\n", command, strerror(errno));
        return -1;
    }
    puts("Destination     Gateway         Genmask         Flags     Use Iface");
    for (unsigned i = 0; i < count; i++) {
        char to[16], gateway[16], mask[16], flags[8] = "";
        for (unsigned f = 0, n = 0; f < sizeof letters / sizeof *letters; f++)
            if (all[i].flags & letters[f].flag)
                flags[n++] = letters[f].letter;
        printf("%-15s %-15s %-15s %-5s %7lu eth0\n", all[i].to || all[i].mask ? ip_text(all[i].to, to) : "default",
               all[i].gateway ? ip_text(all[i].gateway, gateway) : "*", ip_text(all[i].mask, mask), flags,
               (unsigned long)all[i].uses);
    }
    free(all);
    return 0;
}
#endif
