// A bare cluster, a memory of some latency behind its two memory ports, and a test device on its peripheral bus.
//   bench IMAGE [--latency N] [--jitter N] [--seed N] [--max-cycles N]
// loads the binary IMAGE to the start of main memory and runs until the program writes its exit code (the exit status;
// 124 when max-cycles pass). The harts' console output goes to stdout, a line at a time.
// The device's registers, and the private I/O ports' answers, are in ../programs/bench.h. The device at the device
// port, and the faults that --fault plants there, are in device.h.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <random>
#include <string>
#include <vector>

#include "VInterlockCluster.h"
#include "device.h"
#include "verilated.h"

static const uint32_t RAM_BYTES = 4 << 20;
static std::vector<uint64_t> ram(RAM_BYTES / 8);
static std::mt19937 rng;
static uint64_t cycle = 0;
static uint32_t latency = 8, jitter = 0;

static uint32_t upTo(uint32_t most)
{
    return most ? rng() % (most + 1) : 0;
}

static uint64_t &ramWord(uint32_t wordAddress)
{
    return ram[wordAddress % ram.size()];
}

static void writeBytes(uint64_t &word, uint64_t data, uint32_t mask)
{
    for (int byte = 0; byte < 8; byte++)
        if (mask >> byte & 1)
            word = (word & ~(0xFFull << 8 * byte)) | (data & (0xFFull << 8 * byte));
}

// A LiteDRAM native port: commands in order, each due `latency` (and some jitter) after it was accepted.
struct MemoryPort {
    CData &cmdValid, &cmdReady, &cmdWe;
    IData &cmdAddress;
    CData &wValid, &wReady;
    QData &wData;
    CData &wMask, &rValid, &rReady;
    QData &rData;
    struct Command {
        uint32_t address;
        bool write;
        uint64_t due;
    };
    std::deque<Command> commands = {};
    std::deque<uint64_t> reads = {};
    uint64_t words = 0; // read and written so far

    bool headDue() const { return !commands.empty() && cycle >= commands.front().due; }
    void drive()
    {
        cmdReady = commands.size() < 16 && (!jitter || rng() % 4);
        wReady = headDue() && commands.front().write;
        rValid = !reads.empty();
        rData = reads.empty() ? rng() : reads.front();
    }
    void clock()
    { // with the values sampled before the edge
        if (rValid && rReady)
            reads.pop_front();
        if (headDue()) {
            Command head = commands.front();
            if (!head.write || (wValid && wReady))
                words++;
            if (!head.write) {
                reads.push_back(ramWord(head.address));
                commands.pop_front();
            } else if (wValid && wReady) {
                writeBytes(ramWord(head.address), wData, wMask);
                commands.pop_front();
            }
        }
        if (cmdValid && cmdReady)
            commands.push_back({cmdAddress, cmdWe != 0, cycle + latency + upTo(jitter)});
    }
};

struct Hart {
    // private I/O port
    CData &cmdValid, &cmdReady, &cmdWrite;
    IData &cmdAddress, &cmdData;
    CData &cmdMask, &rspValid;
    IData &rspData;
    // probe
    CData &valid;
    IData &pc;
    CData &privilege, &trap;
    IData &cause, &trapPc;
    CData &wfi;

    uint32_t stall = 0; // cycles that an access takes longer; bit 31: before it is accepted, not after
    uint32_t words[16] = {};
    uint32_t stores = 0, traced = 0, tracedAddress = 0, tracedData = 0;
    uint32_t retired = 0, traps = 0, lastCause = 0, lastTrapPc = 0, wfiCycles = 0, userRetired = 0, lastPc = 0;
    bool busy = false, holding = false;
    uint64_t answerAt = 0, acceptAt = 0;
    uint32_t answer = 0;
    std::string console = "";

    void drive()
    {
        if (cmdValid && !busy && !holding) {
            holding = true;
            acceptAt = cycle + (stall >> 31 ? (stall & 0x7FFFFFFF) : 0);
        }
        cmdReady = holding && !busy && cycle >= acceptAt;
        rspValid = busy && cycle >= answerAt;
        rspData = rspValid ? answer : rng();
    }
    bool promises() const { return cmdValid && cmdReady && cmdWrite && cmdAddress == 4 * 15; }
    void clock()
    {
        if (rspValid)
            busy = false;
        if (cmdValid && cmdReady) {
            holding = false;
            busy = true;
            answerAt = cycle + 1 + (stall >> 31 ? 0 : stall);
            bool trace = cmdAddress >> 24 == 1;
            uint32_t &word = words[cmdAddress / 4 % 16];
            answer = trace ? 0 : word;
            if (cmdWrite && trace) {
                traced++, tracedAddress = cmdAddress, tracedData = cmdData;
            } else if (cmdWrite) {
                stores++;
                for (int byte = 0; byte < 4; byte++)
                    if (cmdMask >> byte & 1)
                        word = (word & ~(0xFFu << 8 * byte)) | (cmdData & (0xFFu << 8 * byte));
            }
        }
        if (valid)
            retired++, lastPc = pc, userRetired += privilege == 0;
        if (trap)
            traps++, lastCause = cause, lastTrapPc = trapPc;
        if (wfi)
            wfiCycles++;
    }
    void put(char c)
    {
        console += c;
        if (c == '\n') {
            fputs(console.c_str(), stdout);
            fflush(stdout);
            console.clear();
        }
    }
};

int main(int argc, char **argv)
{
    uint64_t seed = 1, maxCycles = 20'000'000;
    uint32_t fault = 0;
    if (argc < 2)
        return fputs("usage: bench IMAGE [--latency N] [--jitter N] [--seed N] [--max-cycles N]\n", stderr), 2;
    for (int i = 2; i + 1 < argc; i += 2) {
        uint64_t value = strtoull(argv[i + 1], nullptr, 0);
        if (!strcmp(argv[i], "--latency"))
            latency = value;
        else if (!strcmp(argv[i], "--jitter"))
            jitter = value;
        else if (!strcmp(argv[i], "--seed"))
            seed = value;
        else if (!strcmp(argv[i], "--max-cycles"))
            maxCycles = value;
        else if (!strcmp(argv[i], "--fault"))
            fault = value;
        else
            return fprintf(stderr, "bench: no option %s\n", argv[i]), 2;
    }
    FILE *image = fopen(argv[1], "rb");
    if (!image)
        return perror(argv[1]), 2;
    if (!fread(ram.data(), 1, RAM_BYTES, image))
        return fprintf(stderr, "bench: %s is empty\n", argv[1]), 2;
    fclose(image);

    rng.seed(seed);
    VerilatedContext context;
    context.randReset(2); // registers without a reset value start with a random one
    context.randSeed(seed);
    VInterlockCluster top(&context);

    MemoryPort ibus{top.ibus_cmd_valid,   top.ibus_cmd_ready,   top.ibus_cmd_payload_we,     top.ibus_cmd_payload_addr,
                    top.ibus_wdata_valid, top.ibus_wdata_ready, top.ibus_wdata_payload_data, top.ibus_wdata_payload_we,
                    top.ibus_rdata_valid, top.ibus_rdata_ready, top.ibus_rdata_payload_data};
    MemoryPort dbus{top.dbus_cmd_valid,   top.dbus_cmd_ready,   top.dbus_cmd_payload_we,     top.dbus_cmd_payload_addr,
                    top.dbus_wdata_valid, top.dbus_wdata_ready, top.dbus_wdata_payload_data, top.dbus_wdata_payload_we,
                    top.dbus_rdata_valid, top.dbus_rdata_ready, top.dbus_rdata_payload_data};
#define HART(h)                                                                                             \
    Hart                                                                                                    \
    {                                                                                                       \
        top.hart_io_##h##_cmd_valid, top.hart_io_##h##_cmd_ready, top.hart_io_##h##_cmd_payload_write,      \
            top.hart_io_##h##_cmd_payload_address, top.hart_io_##h##_cmd_payload_data,                      \
            top.hart_io_##h##_cmd_payload_mask, top.hart_io_##h##_rsp_valid, top.hart_io_##h##_rsp_payload, \
            top.probe_##h##_valid, top.probe_##h##_pc, top.probe_##h##_privilege, top.probe_##h##_trap,     \
            top.probe_##h##_cause, top.probe_##h##_trapPc, top.probe_##h##_wfi                              \
    }
    std::vector<Hart> harts = {
        HART(0),
#if HARTS > 1
        HART(1),
#endif
#if HARTS > 2
        HART(2),
        HART(3),
#endif
    };

    Device device{{top.device_port_0_cmd_valid, top.device_port_0_cmd_ready, top.device_port_0_cmd_payload_we,
                   top.device_port_0_cmd_payload_addr, top.device_port_0_wdata_valid, top.device_port_0_wdata_ready,
                   top.device_port_0_wdata_payload_data, top.device_port_0_wdata_payload_we,
                   top.device_port_0_rdata_valid, top.device_port_0_rdata_payload_data, top.device_port_0_busy},
                  ram,
                  rng,
                  fault};

    // The peripheral bus: one access at a time, answered at `ackAt`.
    bool pending = false, viaClint = false, error = false;
    uint64_t ackAt = 0;
    uint32_t answer = 0, external = 0, slowDelay = 0, slow = 0;
    // The DMA port: one access at a time.
    bool dmaBusy = false;
    uint32_t dmaAddress = 0, dmaWrite = 0;
    uint64_t dmaData = 0;
    int exitCode = -1;

    auto load = [&](uint32_t offset) -> uint32_t {
        Hart &hart = harts[offset / 4 % 16 % HARTS];
        switch (offset & ~0x3F) {
        case 0x000:
            switch (offset) {
            case 0x10: return dmaAddress;
            case 0x14: return dmaData;
            case 0x18: return dmaData >> 32;
            case 0x1C: return dmaBusy;
            case 0x20: return cycle;
            case 0x28: return slow;
            case 0x2C: return top.timer_interrupt;
            case 0x30:
            case 0x34:
            case 0x38:
            case 0x3C: return device.load(offset);
            }
            break;
        case 0x340: return device.published(offset / 4 % 16);
        case 0x3C0: return dbus.words;
        case 0x0C0: return hart.stores;
        case 0x100: return hart.retired;
        case 0x140: return hart.traps;
        case 0x180: return hart.lastCause;
        case 0x1C0: return hart.lastTrapPc;
        case 0x200: return hart.wfiCycles;
        case 0x240: return hart.traced;
        case 0x280: return hart.tracedAddress;
        case 0x2C0: return hart.tracedData;
        case 0x300: return hart.userRetired;
        }
        error = true;
        return 0;
    };
    auto store = [&](uint32_t offset, uint32_t data) {
        Hart &hart = harts[offset / 4 % 16 % HARTS];
        if ((offset & ~0x3F) == 0x40)
            return hart.put(data);
        if ((offset & ~0x3F) == 0x340)
            return device.look(offset / 4 % 16, data);
        if ((offset & ~0x3F) == 0x80) {
            hart.stall = data;
            return;
        }
        switch (offset) {
        case 0x00: exitCode = data; return;
        case 0x04: external |= data; return;
        case 0x08: external &= ~data; return;
        case 0x10: dmaAddress = data; return;
        case 0x14: dmaData = (dmaData & ~0xFFFFFFFFull) | data; return;
        case 0x18: dmaData = (dmaData & 0xFFFFFFFFull) | (uint64_t)data << 32; return;
        case 0x1C:
            dmaBusy = true;
            dmaWrite = data == 1;
            return;
        case 0x24: slowDelay = data; return;
        case 0x28: slow = data; return;
        case 0x30:
        case 0x34:
        case 0x38:
        case 0x3C: device.store(offset, data, cycle); return;
        }
        error = true;
    };

    top.reset = 1;
    for (int i = 0; i < 20; i++) {
        top.clk = 0, top.eval();
        top.clk = 1, top.eval();
    }
    top.reset = 0;

    for (; exitCode < 0 && cycle < maxCycles; cycle++) {
        top.clk = 0;
        top.external_interrupt = external;
        ibus.drive();
        dbus.drive();
        for (Hart &hart : harts)
            hart.drive();
        top.pbus_ACK = pending && !viaClint && cycle >= ackAt;
        top.pbus_ERR = top.pbus_ACK && error;
        top.pbus_DAT_MISO = answer;
        top.clint_bus_CYC = top.clint_bus_STB = viaClint;
        top.dma_bus_CYC = top.dma_bus_STB = dmaBusy;
        top.dma_bus_WE = dmaWrite;
        top.dma_bus_ADR = dmaAddress / 8;
        top.dma_bus_SEL = 0xFF;
        top.dma_bus_DAT_MOSI = dmaData;
        top.device_port_0_rdata_ready = 1;
        device.drive();
        top.eval();

        ibus.clock();
        dbus.clock();
        device.clock(cycle);
        if (!device.error.empty()) {
            printf("FAILED device: %s, cycle %llu\n", device.error.c_str(), (unsigned long long)cycle);
            exitCode = 1;
        }
        for (Hart &hart : harts) {
            if (hart.promises())
                device.promise(hart.cmdData);
            hart.clock();
        }
        if (dmaBusy && top.dma_bus_ACK) {
            dmaBusy = false;
            if (!dmaWrite)
                dmaData = top.dma_bus_DAT_MISO;
        }
        if (viaClint && top.clint_bus_ACK) {
            viaClint = false;
            answer = top.clint_bus_DAT_MISO;
            ackAt = cycle + 1;
        } else if (top.pbus_ACK) {
            pending = false;
        } else if (!pending && top.pbus_CYC && top.pbus_STB) {
            uint32_t address = top.pbus_ADR << 2;
            pending = true, error = false, answer = 0, ackAt = cycle + 1;
            if (address < 0x10000) { // the boot ROM: lui t0, 0x40000; jr t0
                answer = (address & 4) ? 0x00028067 : 0x400002B7;
                error = top.pbus_WE;
            } else if (address >> 16 == 0xF001) {
                viaClint = true;
                top.clint_bus_WE = top.pbus_WE;
                top.clint_bus_ADR = (address & 0xFFFF) >> 2;
                top.clint_bus_SEL = top.pbus_SEL;
                top.clint_bus_DAT_MOSI = top.pbus_DAT_MOSI;
            } else if (address >> 16 == 0xF000) {
                if ((address & 0xFFFF) == 0x28)
                    ackAt += slowDelay;
                if (top.pbus_WE)
                    store(address & 0xFFFF, top.pbus_DAT_MOSI);
                else
                    answer = load(address & 0xFFFF);
            } else {
                error = true;
            }
        }
        top.clk = 1;
        top.eval();
    }
    top.final();
    if (exitCode < 0) {
        printf("no end after %llu cycles\n", (unsigned long long)cycle);
        for (size_t h = 0; h < harts.size(); h++)
            printf("hart %zu: last retired %08x, last trap cause %08x at %08x%s\n", h, harts[h].lastPc,
                   harts[h].lastCause, harts[h].lastTrapPc, harts[h].wfi ? ", in wfi" : "");
        return 124;
    }
    printf("end at cycle %llu\n", (unsigned long long)cycle);
    return exitCode;
}
