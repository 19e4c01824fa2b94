/* There is no log. */
#define LOG_PID 1
#define LOG_DAEMON 24
#define LOG_AUTH 32
