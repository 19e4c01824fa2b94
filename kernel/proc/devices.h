/*
 * Devices by number, as file systems keep them (as Linux numbers them, major << 8 | minor, so that images of the host
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
 * The character device as a file, for what `kind` (file.h) says; `takes_control`: a terminal becomes its session's, if
 * the caller leads one that has none. -ENXIO: there is none of that number, or the caller has no terminal; -ENOMEM.
 */
int device_open(uint32_t rdev, uint32_t kind, bool takes_control, struct file **f);
#endif
