/*
 * Main RAM of a test: RAM_PAGES pages from BASE on, which the test defines before it includes this. Memory outside it
 * gets an address that no page has.
 */
#ifndef TEST_HOST_RAM_H
#define TEST_HOST_RAM_H

#include <stdint.h>

#include "mem/page.h"
#include "test/host/host.h"

#define BASE 0x40000000u

static uint8_t memory[RAM_PAGES * PAGE_SIZE] __attribute__((aligned(4096)));

void *page_pointer(uint32_t address)
{
    CHECK(address >= BASE && address < BASE + sizeof memory);
    return memory + (address - BASE);
}

uint32_t page_address(const void *pointer)
{
    uintptr_t offset = (uintptr_t)pointer - (uintptr_t)memory;
    return offset < sizeof memory ? BASE + (uint32_t)offset : 0;
}

#endif
