/* The loader of programs (elf.h). Hardware-free: the host's tests run it. */
#include "proc/elf.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "lib/minmax.h"
#include "mem/page.h"

#define IDENTIFICATION "\177ELF\1\1\1" /* 32 bits, little-endian, version 1 */
#define TYPE_EXECUTABLE 2
#define MACHINE_RISCV 243
#define INSTRUCTION 4 /* bytes; no instruction is compressed */
#define SEGMENT_LOAD 1
#define SEGMENT_EXECUTE 1u
#define SEGMENT_WRITE 2u
#define SEGMENT_READ 4u

struct header {
    uint8_t identification[16];
    uint16_t type, machine;
    uint32_t version, entry, segments_at, sections_at, flags;
    uint16_t size, segment_size, segments, section_size, sections, section_names;
};

struct segment {
    uint32_t type, at, address, physical, in_file, in_memory, flags, align;
};

static int elf_get(const struct elf_file *file, uint32_t at, void *to, uint32_t n)
{
    if (!file->bytes)
        return file->read(file, at, to, n);
    memcpy(to, (const uint8_t *)file->bytes + at, n);
    return 0;
}

/* Copies `n` bytes of the file from `from` on to user address `to`: by the page, if they are not in memory. */
static int elf_fill(struct vm_map *map, uint32_t to, const struct elf_file *file, uint32_t from, uint32_t n)
{
    if (file->bytes)
        return vm_fill(map, to, (const uint8_t *)file->bytes + from, n);
    uint32_t page = page_alloc_raw();
    int error = page ? 0 : -ENOMEM;
    for (uint32_t part; n && !error; n -= part, from += part, to += part) {
        part = MIN(n, PAGE_SIZE);
        error = elf_get(file, from, page_pointer(page), part);
        if (!error)
            error = vm_fill(map, to, page_pointer(page), part);
    }
    if (page)
        page_free(page);
    return error;
}

static bool is_program(const struct header *h, uint32_t size)
{
    return !memcmp(h->identification, IDENTIFICATION, sizeof IDENTIFICATION - 1) && h->type == TYPE_EXECUTABLE &&
           h->machine == MACHINE_RISCV && h->segment_size == sizeof(struct segment) && h->segments_at <= size &&
           h->segments <= (size - h->segments_at) / sizeof(struct segment);
}

static bool elf_is_sound(const struct segment *s, uint32_t size)
{
    return s->at <= size && s->in_file <= size - s->at && s->in_file <= s->in_memory && s->address >= VM_BEGIN &&
           s->address <= VM_END && s->in_memory <= VM_END - s->address && s->flags & SEGMENT_READ;
}

static unsigned elf_rights_of(const struct segment *s)
{
    return PAGE_READ | (s->flags & SEGMENT_WRITE ? PAGE_WRITE : 0) | (s->flags & SEGMENT_EXECUTE ? PAGE_EXECUTE : 0);
}

static int load_segment(struct vm_map *map, const struct elf_file *file, const struct segment *s)
{
    if (!elf_is_sound(s, file->size))
        return -ENOEXEC;
    uint32_t begin = s->address & ~PAGE_MASK;
    unsigned rights = elf_rights_of(s);
    int error = vm_map_object(map, &begin, s->address + s->in_memory - begin, VM_FIXED, 0, 0, false, rights,
                              PAGE_RIGHTS, VM_INHERIT_COPY);
    if (error)
        return error == -ENOMEM ? error : -ENOEXEC; /* another segment has the page, or code is writable */
    return elf_fill(map, s->address, file, s->at, s->in_file);
}

static bool elf_is_code(const struct segment *s, uint32_t address)
{
    return s->flags & SEGMENT_EXECUTE && address - s->address < s->in_memory;
}

int elf_load(struct vm_map *map, const struct elf_file *file, struct elf_program *program)
{
    struct header h;
    if (file->size < sizeof h)
        return -ENOEXEC;
    int error = elf_get(file, 0, &h, sizeof h);
    if (error || !is_program(&h, file->size))
        return error ? error : -ENOEXEC;
    *program = (struct elf_program){.entry = h.entry};
    bool has_entry = false;
    for (unsigned i = 0; i < h.segments; i++) {
        struct segment s;
        error = elf_get(file, h.segments_at + i * sizeof s, &s, sizeof s);
        if (error)
            return error;
        if (s.type != SEGMENT_LOAD || !s.in_memory)
            continue;
        error = load_segment(map, file, &s);
        if (error)
            return error;
        has_entry |= elf_is_code(&s, h.entry);
        uint32_t end = (s.address + s.in_memory + PAGE_MASK) & ~PAGE_MASK;
        if (end > program->end)
            program->end = end;
    }
    return h.entry % INSTRUCTION == 0 && has_entry ? 0 : -ENOEXEC;
}
