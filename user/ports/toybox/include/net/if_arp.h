/* Included by ifconfig alone: requests that no interface here has, and /proc/net/dev, which is empty. */
#ifndef TOYBOX_IF_ARP_H
#define TOYBOX_IF_ARP_H

#include_next <net/if_arp.h>

#define SIOCSIFNAME 0x8923
#define SIOCGIFDSTADDR 0x8917
#define SIOCSIFDSTADDR 0x8918
#define SIOCSIFBRDADDR 0x891a
#define SIOCGIFMETRIC 0x891d
#define SIOCSIFMETRIC 0x891e
#define SIOCSIFMTU 0x8922
#define SIOCSIFHWADDR 0x8924
#define SIOCDIFADDR 0x8936
#define SIOCGIFTXQLEN 0x8942
#define SIOCSIFTXQLEN 0x8943
#define SIOCGIFMAP 0x8970
#define SIOCSIFMAP 0x8971
#define SIOCDEVPRIVATE 0x89f0
#define xfopen(path, mode) empty_file()

FILE *empty_file(void);
#endif
