/*
 * The protocol of a board and its host on the console line (README.md, "The link"). The line also carries text: the
 * marks of a frame are bytes that no UTF-8 text holds.
 *
 *   BEGIN, then type, sequence, payload and CRC-32 with every mark escaped, then END
 *
 * The CRC-32 is that of IEEE 802.3 (zlib's), least significant byte first, over type, sequence and payload. Numbers in
 * payloads are 32 bits, least significant byte first. The host sends requests, the boot ROM answers with type | REPLY,
 * the same sequence number and a status in front; damaged requests are not answered. All requests but RUN and RESET are
 * idempotent.
 */
#ifndef PROTOCOL_H
#define PROTOCOL_H

#define PROTOCOL_VERSION 1

#define FRAME_BEGIN 0xc0
#define FRAME_END 0xc1
#define FRAME_ESCAPE 0xf5      /* the next byte is XORed with FRAME_ESCAPED_BY */
#define FRAME_ESCAPED_BY 0x20
#define FRAME_HEADER 2         /* bytes: type, sequence */
#define FRAME_CRC 4            /* bytes */
#define FRAME_DATA 1024        /* most bytes of memory in one frame */
#define FRAME_PAYLOAD (FRAME_DATA + 8)

/* Requests: before -- is the payload, after it that of the reply behind its status. */
/* LINK_HELLO is answered by version, state, fingerprint low, high, harts, clock in Hz, address and bytes of main RAM,
 * characters that its receiver buffers, then the board's name. */
#define LINK_HELLO 1  /* : -- as above */
#define LINK_WRITE 2  /* address, bytes : -- nothing. Into main RAM only */
#define LINK_READ 3   /* address, count : -- the bytes. Of main RAM, or whole words of I/O */
#define LINK_CRC 4    /* address, count : -- CRC-32 of that part of main RAM */
#define LINK_BAUD 5   /* bit/s : -- the actual bit/s; reverted unless a frame comes at that rate within 2 s */
#define LINK_RUN 6    /* entry : -- nothing. All harts enter the image */
#define LINK_ENDED 7  /* : -- exit code, number of blobs, then kind, address and count of each. How the run ended */
#define LINK_TEST 8   /* which (LINK_TEST_...), number : -- nothing. Then the test, if the number is a new one */
#define LINK_REPORT 9 /* : -- number of the last self-test (0: that of the start), failures, its report as text */
#define LINK_PACKED 10 /* address, LZ4 block : -- nothing. As WRITE, of the unpacked block */
#define LINK_RESET 11 /* : -- nothing. Then the machine is reset, and its boot ROM starts again at 115,200 bit/s */

#define LINK_REPLY 0x80
#define LINK_NOTE_ENDED 0x40 /* unsolicited, once a second until a request comes: the run's end. Payload: exit code */

#define LINK_TEST_SHORT 1
#define LINK_TEST_LONG 2

/* State in the answer to HELLO. */
#define LINK_STATE_IDLE 0  /* out of reset: no run yet */
#define LINK_STATE_ENDED 1 /* an image has ended; main RAM is as it left it */

/* Status: first number of every reply. */
#define LINK_OK 0
#define LINK_UNKNOWN 1     /* no such request */
#define LINK_BAD_LENGTH 2  /* the payload's length does not fit the request */
#define LINK_BAD_ADDRESS 3 /* not within main RAM, nor whole words of I/O where allowed */
#define LINK_BAD_VALUE 4   /* an impossible bit rate, an unknown self-test, an invalid block */
#define LINK_NO_IMAGE 5    /* RUN, and no image's header is at the entry */
/* LINK_NOT_NOW: other harts may still be in the image, so reset first. */
#define LINK_NOT_NOW 6     /* RUN or a self-test in state ENDED; ENDED before a run */
#endif
