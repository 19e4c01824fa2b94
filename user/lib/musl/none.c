/* Functions that musl needs and this system does not have: users by name, names of time zones. */
#include <errno.h>
#include <pwd.h>
#include <stddef.h>
#include <time.h>

int getpwnam_r(const char *name, struct passwd *entry, char *buffer, size_t size, struct passwd **found)
{
    (void)name, (void)entry, (void)buffer, (void)size;
    *found = NULL;
    return ENOENT;
}

int getpwuid_r(uid_t user, struct passwd *entry, char *buffer, size_t size, struct passwd **found)
{
    (void)user, (void)entry, (void)buffer, (void)size;
    *found = NULL;
    return ENOENT;
}

const char *__tm_to_tzname(const struct tm *time)
{
    (void)time;
    return "UTC";
}
