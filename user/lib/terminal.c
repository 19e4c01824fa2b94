/* Terminals (<termios.h>, <unistd.h>). */
#include <errno.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "user/lib/system.h"

_Static_assert(sizeof(struct termios) == sizeof(struct user_termios) && TIOCGETA == USER_TIOCGETA &&
                   TIOCSETA == USER_TIOCSETA && TIOCSETAF == USER_TIOCSETAF && NCCS == USER_NCCS &&
                   VINTR == USER_VINTR && VMIN == USER_VMIN && ICANON == USER_ICANON && ISIG == USER_ISIG &&
                   IXON == USER_IXON && ECHO == USER_ECHO && OPOST == USER_OPOST,
               "these are the kernel's");

int isatty(int fd)
{
    struct winsize size;
    if (!ioctl(fd, TIOCGWINSZ, &size))
        return 1;
    if (errno != EBADF)
        errno = ENOTTY;
    return 0;
}

int tcgetattr(int fd, struct termios *to)
{
    return ioctl(fd, TIOCGETA, to);
}

int tcsetattr(int fd, int when, const struct termios *from)
{
    if (when < TCSANOW || when > TCSAFLUSH) {
        errno = EINVAL;
        return -1;
    }
    return ioctl(fd, TIOCSETA + (unsigned)when, from);
}

int tcdrain(int fd)
{
    return ioctl(fd, TIOCDRAIN);
}

int tcflow(int fd, int action)
{
    if (action == TCOOFF || action == TCOON)
        return ioctl(fd, action == TCOOFF ? TIOCSTOP : TIOCSTART);
    errno = EINVAL; /* only RTS makes the far end wait */
    return -1;
}

int tcflush(int fd, int which)
{
    if (which >= TCIFLUSH && which <= TCIOFLUSH)
        return ioctl(fd, TIOCFLUSH, &which);
    errno = EINVAL;
    return -1;
}

int tcsendbreak(int fd, int duration)
{
    (void)duration; /* a line that cannot send a break ignores it */
    return isatty(fd) ? 0 : -1;
}

pid_t tcgetsid(int fd)
{
    int session;
    return ioctl(fd, TIOCGSID, &session) ? -1 : session;
}

pid_t tcgetpgrp(int fd)
{
    int group;
    return ioctl(fd, TIOCGPGRP, &group) ? -1 : group;
}

int tcsetpgrp(int fd, pid_t group)
{
    int wanted = group;
    return ioctl(fd, TIOCSPGRP, &wanted);
}

void cfmakeraw(struct termios *t)
{
    t->c_iflag &= ~(tcflag_t)(ISTRIP | INLCR | IGNCR | ICRNL | IXON);
    t->c_oflag &= ~(tcflag_t)OPOST;
    t->c_lflag &= ~(tcflag_t)(ECHO | ECHONL | ICANON | ISIG | IEXTEN);
    t->c_cc[VMIN] = 1;
    t->c_cc[VTIME] = 0;
}

speed_t cfgetispeed(const struct termios *t)
{
    return t->c_ispeed;
}

speed_t cfgetospeed(const struct termios *t)
{
    return t->c_ospeed;
}

int cfsetispeed(struct termios *t, speed_t speed)
{
    t->c_ispeed = speed;
    return 0;
}

int cfsetospeed(struct termios *t, speed_t speed)
{
    t->c_ospeed = speed;
    return 0;
}

char *ttyname(int fd)
{
    return isatty(fd) ? "/dev/console" : 0;
}

char *ctermid(char *to)
{
    static char name[] = "/dev/tty";
    if (!to)
        return name;
    for (unsigned i = 0; i < sizeof name; i++)
        to[i] = name[i];
    return to;
}
