/* What a terminal is asked, as 4.3BSD and the kernel (user/abi.h) number it. */
#ifndef _SYS_IOCTL_H
#define _SYS_IOCTL_H

#define FIONREAD 0x4004667f
#define TIOCGPGRP 0x40047477
#define TIOCSPGRP 0x80047476
#define TIOCGWINSZ 0x40087468

struct winsize {
    unsigned short ws_row, ws_col, ws_xpixel, ws_ypixel;
};

int ioctl(int fd, unsigned long request, ...);
#endif
