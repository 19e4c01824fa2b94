/* What a program can do with its terminal; `keys` arrive as they are typed: the test types those it asks for. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

static unsigned checks, failed;

#define CHECK(what)                       \
    do {                                  \
        checks++;                         \
        if (!(what)) {                    \
            failed++;                     \
            printf("wrong: %s\n", #what); \
        }                                 \
    } while (0)

static volatile int caught;

static void handler(int number)
{
    caught = number;
}

static void jobs(int tty)
{
    CHECK(tcgetpgrp(0) == getpgrp() && tcgetpgrp(tty) == getpgrp());
    CHECK(tcgetsid(0) > 0 && tcgetsid(0) == getppid()); /* the shell leads the session */
    CHECK(tcsetpgrp(0, 30000) < 0 && errno == EPERM);
    CHECK(tcsetpgrp(0, getpgrp()) == 0);
    CHECK(ioctl(0, TIOCSCTTY) < 0 && errno == EPERM); /* this does not */
}

/* A key that sends a signal interrupts a read that is not restarted. */
static void interrupted(void)
{
    struct sigaction action = {.sa_handler = handler};
    char c;
    sigaction(SIGINT, &action, 0);
    write(1, "interrupt?", 10);
    CHECK(read(0, &c, 1) < 0 && errno == EINTR && caught == SIGINT);
}

static void keys(void)
{
    struct termios first, raw, now;
    char got[8];
    int n;
    CHECK(!tcgetattr(0, &first) && first.c_lflag & ICANON && first.c_lflag & ECHO && first.c_cc[VINTR] == 3);
    raw = first;
    cfmakeraw(&raw);
    raw.c_cc[VMIN] = 3;
    CHECK(!tcsetattr(0, TCSAFLUSH, &raw) && !tcgetattr(0, &now) && !memcmp(&raw, &now, sizeof raw));
    write(1, "keys?", 5);
    CHECK(read(0, got, sizeof got) == 3 && !memcmp(got, "a\003\177", 3));
    raw.c_cc[VMIN] = 0;
    raw.c_cc[VTIME] = 1;
    CHECK(!tcsetattr(0, TCSANOW, &raw));
    CHECK(read(0, got, sizeof got) == 0); /* no key is typed for a tenth of a second */
    CHECK(!tcsetattr(0, TCSADRAIN, &first));
    fcntl(0, F_SETFL, O_NONBLOCK);
    CHECK(read(0, got, sizeof got) < 0 && errno == EAGAIN);
    fcntl(0, F_SETFL, 0);
    write(1, "line?", 5);
    struct pollfd in = {.fd = 0, .events = POLLIN};
    CHECK(poll(&in, 1, -1) == 1 && in.revents == POLLIN);
    CHECK(!ioctl(0, FIONREAD, &n) && n == 3);
    CHECK(read(0, got, sizeof got) == 3 && !memcmp(got, "xy\n", 3));
}

/* Writes wait while output is stopped. */
static void stopped(void)
{
    int n;
    CHECK(!tcdrain(1) && !ioctl(1, TIOCOUTQ, &n) && n == 0);
    CHECK(!tcflow(1, TCOOFF) && write(1, "held\n", 5) == 5);
    usleep(5000);
    CHECK(!ioctl(1, TIOCOUTQ, &n) && n == 6);
    CHECK(!tcflow(1, TCOON) && !tcdrain(1) && !ioctl(1, TIOCOUTQ, &n) && n == 0);
}

/* A process in the background may write, unless the terminal stops it. */
static void writes_in_the_background(void)
{
    struct termios first, now;
    CHECK(!tcgetattr(0, &first) && !(first.c_lflag & TOSTOP));
    for (int stops = 0; stops < 2; stops++) {
        int status;
        now = first;
        now.c_lflag |= stops ? TOSTOP : 0;
        CHECK(!tcsetattr(0, TCSADRAIN, &now));
        pid_t id = fork();
        if (!id) {
            setpgid(0, 0);
            _exit(write(1, "\n", 1) != 1);
        }
        CHECK(waitpid(id, &status, WUNTRACED) == id);
        CHECK(stops ? WIFSTOPPED(status) && WSTOPSIG(status) == SIGTTOU : WIFEXITED(status) && !WEXITSTATUS(status));
        if (stops)
            CHECK(!kill(id, SIGKILL) && waitpid(id, &status, 0) == id && WIFSIGNALED(status));
    }
    CHECK(!tcsetattr(0, TCSADRAIN, &first));
}

static void sizes(void)
{
    struct winsize first, other = {.ws_row = 30, .ws_col = 100}, now;
    CHECK(!ioctl(0, TIOCGWINSZ, &first) && !ioctl(0, TIOCSWINSZ, &other) && !ioctl(0, TIOCGWINSZ, &now));
    CHECK(now.ws_row == 30 && now.ws_col == 100 && !ioctl(0, TIOCSWINSZ, &first));
    CHECK(!ioctl(0, TIOCGWINSZ, &now) && now.ws_row == 24 && now.ws_col == 80);
}

int main(void)
{
    struct winsize size;
    int tty = open("/dev/tty", O_RDWR);
    CHECK(tty >= 0 && isatty(0) && isatty(tty) && !isatty(99));
    CHECK(!ioctl(0, TIOCGWINSZ, &size) && size.ws_row == 24 && size.ws_col == 80);
    jobs(tty);
    interrupted();
    keys();
    stopped();
    sizes();
    writes_in_the_background();
    printf("@terminal checks=%u failed=%u\n", checks, failed);
    return failed != 0;
}
