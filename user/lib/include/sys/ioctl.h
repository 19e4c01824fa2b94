/* Requests to a terminal as 4.3BSD and 4.4BSD number them, to an interface (<net/if.h>) as Linux: user/abi.h. */
#ifndef _SYS_IOCTL_H
#define _SYS_IOCTL_H

#define FIONREAD 0x4004667f
#define SIOCATMARK 0x40047307
#define SIOCADDRT 0x890b
#define SIOCDELRT 0x890c
#define SIOCGIFNAME 0x8910
#define SIOCGIFCONF 0x8912
#define SIOCGIFFLAGS 0x8913
#define SIOCSIFFLAGS 0x8914
#define SIOCGIFADDR 0x8915
#define SIOCSIFADDR 0x8916
#define SIOCGIFBRDADDR 0x8919
#define SIOCGIFNETMASK 0x891b
#define SIOCSIFNETMASK 0x891c
#define SIOCGIFMTU 0x8921
#define SIOCGIFHWADDR 0x8927
#define SIOCGIFINDEX 0x8933
#define TIOCGETA 0x402c7413
#define TIOCSETA 0x802c7414
#define TIOCSETAW 0x802c7415
#define TIOCSETAF 0x802c7416
#define TIOCFLUSH 0x80047410
#define TIOCDRAIN 0x2000745e
#define TIOCSTOP 0x2000746f
#define TIOCSTART 0x2000746e
#define TIOCOUTQ 0x40047473
#define TIOCSCTTY 0x20007461
#define TIOCNOTTY 0x20007471
#define TIOCGSID 0x40047463
#define TIOCGPGRP 0x40047477
#define TIOCSPGRP 0x80047476
#define TIOCGWINSZ 0x40087468
#define TIOCSWINSZ 0x80087467

struct winsize {
    unsigned short ws_row, ws_col, ws_xpixel, ws_ypixel;
};

int ioctl(int fd, unsigned long request, ...);
#endif
