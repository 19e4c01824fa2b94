/* Requests of programs about interfaces: SIOCGIFADDR and others of user/abi.h (if_ioctl.c). */
#ifndef NET_IF_IOCTL_H
#define NET_IF_IOCTL_H

#include <stdint.h>

struct vm_map;

/* `at`: the request's structure. 0, or -ENOTTY: not such a request; -ENODEV, -EINVAL, -EOPNOTSUPP, -EFAULT. */
int if_ioctl(struct vm_map *map, uint32_t request, uint32_t at);
#endif
