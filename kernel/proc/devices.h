/*
 * Devices by number, as file systems store them (numbered as in Linux, major << 8 | minor, so that images of the host
 * fit).
 */
#ifndef USER_DEVICES_H
#define USER_DEVICES_H

#include "file/file.h"

#define DEVICE_NULL 0x0103
#define DEVICE_ZERO 0x0105
#define DEVICE_TTY 0x0500
#define DEVICE_CONSOLE 0x0501

/*
 * The character device as a file, for uses as in `kind` (file.h); `takes_control`: a terminal becomes the session's, if
 * the caller leads one that has none. -ENXIO: no device has that number, or the caller has no terminal; -ENOMEM.
 */
int device_open(uint32_t rdev, uint32_t kind, bool takes_control, struct file **f);
#endif
