#include "devices/line_speed.h"

#include <asm/termbits.h>
#include <sys/ioctl.h>

uint64_t line_speed(int descriptor)
{
    termios2 settings;
    return ioctl(descriptor, TCGETS2, &settings) ? 0 : settings.c_ospeed;
}

void set_line_speed(int descriptor, uint64_t baud)
{
    termios2 settings;
    if (ioctl(descriptor, TCGETS2, &settings))
        return;
    settings.c_cflag = (settings.c_cflag & ~tcflag_t(CBAUD)) | BOTHER;
    settings.c_ispeed = settings.c_ospeed = speed_t(baud);
    ioctl(descriptor, TCSETS2, &settings);
}
