/* What ifconfig and ping have of Linux (include/net/if_arp.h, include/ifaddrs.h). */
#include <ifaddrs.h>
#include <netinet/in.h>
#include <netinet/ip_icmp.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#undef xsendto

#define IP_HEADER_MOST 60
#define ECHO_MOST 4096 /* ping's buffer */

void xsendto(int fd, void *message, size_t bytes, struct sockaddr *to);

FILE *empty_file(void)
{
    return fmemopen("", 1, "r");
}

/* Linux computes an echo's checksum. */
void echo_sent(int fd, void *message, size_t bytes, struct sockaddr *to)
{
    struct icmphdr *icmp = message;
    uint32_t sum = 0;
    icmp->checksum = 0;
    for (size_t i = 0; i < bytes; i++)
        sum += (uint32_t)((unsigned char *)message)[i] << (i % 2 ? 8 : 0);
    while (sum >> 16)
        sum = (sum & 0xffff) + (sum >> 16);
    icmp->checksum = (uint16_t)~sum;
    xsendto(fd, message, bytes, to);
}

/* The next message of a raw socket: the answer to an echo of this process, with its TTL; 0: it is another one. */
ssize_t echo_received(int fd, struct msghdr *message, int flags)
{
    static unsigned char packet[IP_HEADER_MOST + ECHO_MOST];
    ssize_t n = recvfrom(fd, packet, sizeof packet, flags, message->msg_name, &message->msg_namelen);
    ssize_t header = (packet[0] & 15) * 4, bytes = n - header;
    struct icmphdr *icmp = (struct icmphdr *)(packet + header);
    struct cmsghdr *control = message->msg_control;
    if (n < 0)
        return n;
    if (bytes < (ssize_t)sizeof *icmp || icmp->type != ICMP_ECHOREPLY || icmp->un.echo.id != (uint16_t)getpid())
        return 0;
    if ((size_t)bytes > message->msg_iov->iov_len)
        bytes = (ssize_t)message->msg_iov->iov_len;
    memcpy(message->msg_iov->iov_base, icmp, (size_t)bytes);
    *control = (struct cmsghdr){sizeof *control + 1, IPPROTO_IP, IP_TTL};
    *CMSG_DATA(control) = packet[8];
    message->msg_controllen = CMSG_SPACE(1);
    return bytes;
}
