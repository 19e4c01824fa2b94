/* In the place of intr/pic.h on the host, which has no interrupt controller. */
