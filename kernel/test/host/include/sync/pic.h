/* In the place of sync/pic.h on the host, which has no interrupt controller. */
