// The program: an ELF32 file whose segments go straight into main RAM (README, "Image").
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

constexpr uint32_t RAM_BASE = 0x40000000;
constexpr uint32_t IMAGE_MAGIC = 0x314b4c49; // "ILK1", at RAM_BASE + 4

struct Function {
    uint32_t address;
    std::string name;
};

struct ProbePoint {
    static constexpr unsigned NO_VALUE = 32;
    uint32_t pc, kind;
    unsigned value; // the register that holds the mark's value, or NO_VALUE
};

// Where the program keeps its threads (kernel/sched/thread.c, section .interlock.threads).
struct ThreadTable {
    uint32_t address = 0, stride = 0, count = 0; // an entry per thread, by id; 0: the program has none
    uint32_t name = 0, pc = 0, frame = 0; // in an entry: the name's address; where a waiting thread resumes
};

struct Image {
    std::string sha256;
    size_t file_bytes = 0;
    uint32_t code_begin = 0, code_end = 0; // spans all executable segments
    std::vector<Function> functions; // by address; one reaches to the next
    std::vector<ProbePoint> probes; // in the order of section .interlock.probes
    ThreadTable threads;

    int function_at(uint32_t pc) const; // index into functions, or -1
    std::string describe(uint32_t pc) const; // "name+0x1c", or "?" outside the image's code
    // The same for a return address, which is behind its function's end if that ends with the call.
    std::string describe_return(uint32_t address) const;

    // The address that SYMBOL, SYMBOL+OFFSET or 0xADDRESS stands for. Throws Failure with one line that names `option`.
    uint32_t address_of(const std::string &option, const std::string &place) const;
};

// A user program, from its ELF file: its code at its addresses there.
struct Program {
    uint32_t entry = 0, begin = 0; // its start; its first segment of code
    std::vector<uint32_t> code; // the words of that segment
    std::vector<Function> functions; // as in Image
};
// Throws Failure with one clear line if it is no program, or has no symbols.
Program load_program(const std::string &path, const std::vector<uint8_t> &content);

// Loads `content`, the file `path`, into RAM and writes `bootargs` where the image's header wants them. Throws Failure
// with one clear line.
Image load_image(const std::string &path, const std::vector<uint8_t> &content, const std::string &bootargs,
                 uint8_t *ram, size_t ram_bytes);
