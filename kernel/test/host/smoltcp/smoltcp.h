/* A host whose TCP/IP is smoltcp's, with one connection. Times are in milliseconds; packets begin with IP's header. */
#ifndef TEST_HOST_SMOLTCP_H
#define TEST_HOST_SMOLTCP_H

#include <stdbool.h>
#include <stdint.h>

struct smoltcp;

struct smoltcp *smoltcp_begin(uint32_t own, uint32_t seed);
void smoltcp_end(struct smoltcp *p);
bool smoltcp_listen(struct smoltcp *p, uint16_t port);
bool smoltcp_connect(struct smoltcp *p, uint32_t to, uint16_t port, uint16_t own);
void smoltcp_input(struct smoltcp *p, const uint8_t *packet, uint32_t n);
void smoltcp_poll(struct smoltcp *p, uint32_t now); /* takes its packets, sends what it has to send */
uint32_t smoltcp_due(struct smoltcp *p, uint32_t now); /* how long it needs no poll, if no packet arrives */
uint32_t smoltcp_output(struct smoltcp *p, uint8_t *packet, uint32_t most); /* a packet's length, 0: there is none */
uint32_t smoltcp_write(struct smoltcp *p, const uint8_t *bytes, uint32_t n);
uint32_t smoltcp_read(struct smoltcp *p, uint8_t *bytes, uint32_t n);
void smoltcp_close(struct smoltcp *p); /* no more is written */
bool smoltcp_has_end(struct smoltcp *p); /* the other end writes no more, and all is read */
bool smoltcp_is_over(struct smoltcp *p);
#endif
