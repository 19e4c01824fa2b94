/* Replaces arch/csr.h on the host: the same, but a test defines the time. */
#ifndef TEST_HOST_CSR_H
#define TEST_HOST_CSR_H

#define cycles32 csr_cycles32
#define cycles64 csr_cycles64
#include_next "arch/csr.h"
#undef cycles32
#undef cycles64

uint32_t cycles32(void);
uint64_t cycles64(void);
#endif
