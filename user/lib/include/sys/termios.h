/*
 * Terminals: POSIX's modes, as 4.4BSD and the kernel (user/abi.h) number them. Speeds are those of the line, and cannot
 * be changed.
 */
#ifndef _SYS_TERMIOS_H
#define _SYS_TERMIOS_H

#include <sys/types.h>

typedef unsigned tcflag_t, speed_t;
typedef unsigned char cc_t;

#define NCCS 20
#define VEOF 0
#define VEOL 1
#define VEOL2 2
#define VERASE 3
#define VWERASE 4
#define VKILL 5
#define VREPRINT 6
#define VERASE2 7
#define VINTR 8
#define VQUIT 9
#define VSUSP 10
#define VSTART 12
#define VSTOP 13
#define VLNEXT 14
#define VMIN 16
#define VTIME 17
#ifndef _POSIX_VDISABLE
#define _POSIX_VDISABLE 0xff
#endif

struct termios {
    tcflag_t c_iflag, c_oflag, c_cflag, c_lflag;
    cc_t c_cc[NCCS];
    speed_t c_ispeed, c_ospeed;
};

/* c_iflag; those of breaks and parity, and IXOFF, are stored and have no effect. */
#define IGNBRK 0x1
#define BRKINT 0x2
#define IGNPAR 0x4
#define PARMRK 0x8
#define INPCK 0x10
#define ISTRIP 0x20
#define INLCR 0x40
#define IGNCR 0x80
#define ICRNL 0x100
#define IXON 0x200
#define IXOFF 0x400
#define IXANY 0x800
#define IMAXBEL 0x2000
/* c_oflag */
#define OPOST 0x1
#define ONLCR 0x2
/* c_cflag: always these */
#define CSIZE 0x300
#define CS5 0x0
#define CS6 0x100
#define CS7 0x200
#define CS8 0x300
#define CSTOPB 0x400
#define CREAD 0x800
#define PARENB 0x1000
#define PARODD 0x2000
#define HUPCL 0x4000
#define CLOCAL 0x8000
/* c_lflag */
#define ECHOKE 0x1
#define ECHOE 0x2
#define ECHOK 0x4
#define ECHO 0x8
#define ECHONL 0x10
#define ECHOCTL 0x40
#define ISIG 0x80
#define ICANON 0x100
#define IEXTEN 0x400
#define TOSTOP 0x400000
#define NOFLSH 0x80000000

#define B0 0
#define B300 300
#define B1200 1200
#define B2400 2400
#define B4800 4800
#define B9600 9600
#define B19200 19200
#define B38400 38400
#define B57600 57600
#define B115200 115200

#define TCSANOW 0
#define TCSADRAIN 1
#define TCSAFLUSH 2
#define TCIFLUSH 1
#define TCOFLUSH 2
#define TCIOFLUSH 3
#define TCOOFF 1
#define TCOON 2
#define TCIOFF 3
#define TCION 4

int tcgetattr(int fd, struct termios *to);
int tcsetattr(int fd, int when, const struct termios *from);
int tcdrain(int fd);
int tcflow(int fd, int action);
int tcflush(int fd, int which);
int tcsendbreak(int fd, int duration);
pid_t tcgetsid(int fd);
void cfmakeraw(struct termios *t);
speed_t cfgetispeed(const struct termios *t);
speed_t cfgetospeed(const struct termios *t);
int cfsetispeed(struct termios *t, speed_t speed);
int cfsetospeed(struct termios *t, speed_t speed);
#endif
