/* Terminals: there is one, and it has one mode (user/lib/unistd.c). */
#ifndef _SYS_TERMIOS_H
#define _SYS_TERMIOS_H

#include <sys/types.h>

typedef unsigned tcflag_t, speed_t;
typedef unsigned char cc_t;

#define NCCS 20
#define VEOF 0
#define VEOL 1
#define VERASE 3
#define VKILL 5
#define VINTR 8
#define VQUIT 9
#define VSUSP 10
#define VMIN 16
#define VTIME 17

struct termios {
    tcflag_t c_iflag, c_oflag, c_cflag, c_lflag;
    cc_t c_cc[NCCS];
    speed_t c_ispeed, c_ospeed;
};

#define ICRNL 0x100
#define IXON 0x200
#define BRKINT 0x2
#define INPCK 0x10
#define ISTRIP 0x20
#define OPOST 0x1
#define ONLCR 0x2
#define CS8 0x300
#define CREAD 0x800
#define ECHO 0x8
#define ECHOE 0x2
#define ISIG 0x80
#define ICANON 0x100
#define IEXTEN 0x400
#define TCSANOW 0
#define TCSADRAIN 1
#define TCSAFLUSH 2

int tcgetattr(int fd, struct termios *to);
int tcsetattr(int fd, int when, const struct termios *from);
#endif
