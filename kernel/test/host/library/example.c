/* A connection is begun, and its SYN received: `cc example.c -L. -linterlock-net` beside the library. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>

#include "interlock_net.h"

int main(void)
{
    struct ilk_calls calls;
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(80), .sin_addr.s_addr = inet_addr("192.0.2.1")};
    struct timeval before, after;
    unsigned char packet[1500];
    size_t bytes = sizeof packet;
    long long us;
    packetdrill_interface_init("local=10.1.2.3", &calls);
    int again = !ilk_open("") && errno == EBUSY;
    int fd = calls.socket(calls.net, AF_INET, SOCK_STREAM, 0);
    int error = calls.connect(calls.net, fd, (struct sockaddr *)&to, sizeof to) ? errno : 0;
    calls.gettimeofday(calls.net, &before, 0);
    calls.usleep(calls.net, 2500);
    calls.gettimeofday(calls.net, &after, 0);
    calls.netdev_receive(calls.net, packet, &bytes, &us);
    printf("%d %d %d.%d.%d.%d:%d at %lld, %ld\n", again, error == EINPROGRESS, packet[12], packet[13], packet[14],
           packet[15], packet[22] << 8 | packet[23], us, (long)(after.tv_usec - before.tv_usec));
    calls.close(calls.net, fd);
    printf("%u left\n", ilk_left(calls.net));
    calls.free(calls.net);
    int refused = !ilk_open("local=10.1.2") && errno == EINVAL;
    printf("%d %d\n", refused, !!ilk_open("first=5"));
    return 0;
}
