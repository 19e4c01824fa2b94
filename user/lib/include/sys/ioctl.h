/* Requests to a terminal, as 4.3BSD, 4.4BSD and the kernel (user/abi.h) number them. */
#ifndef _SYS_IOCTL_H
#define _SYS_IOCTL_H

#define FIONREAD 0x4004667f
#define SIOCATMARK 0x40047307
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
