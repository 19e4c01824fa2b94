/* Requests of programs for lists: USER_SIOCROUTES and others of user/abi.h (net_lists.c). */
#ifndef NET_NET_LISTS_H
#define NET_NET_LISTS_H

#include <stdint.h>

struct vm_map;

/* `at`: struct user_list. 0, or -ENOTTY: not such a request; -EFAULT; -ENOBUFS. */
int net_lists_ioctl(struct vm_map *map, uint32_t request, uint32_t at);
#endif
