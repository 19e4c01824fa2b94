/* An older name of <poll.h>. */
#include <poll.h>
