/* poll and select: waiting for any of several files. */
#ifndef FILE_POLL_H
#define FILE_POLL_H

#include "file/file.h"

#define POLL_MOST 512u /* files at once */

#endif
