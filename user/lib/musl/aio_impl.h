/* Empty: musl.h has the replacement. */
