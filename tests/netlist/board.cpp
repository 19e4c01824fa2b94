// A ULX3S around a chip, its RTL or its netlist: oscillator, PLL, SDRAM, a listener on the console; no SD card.
//
//     Vinterlock CYCLES
//
// Prints the console's characters with the cycle in which each began, and a digest of all pins every 2^16 cycles.
// CLOCK_HZ is the rate of the system's clock.
#include "Vinterlock.h"
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

// SDR SDRAM: 4 banks of 8,192 rows of 512 words of 16 bits.
class SDRAM {
  public:
    explicit SDRAM(Vinterlock &chip) : chip(chip), words(1 << 24) {}

    // A rising edge of its clock.
    void clock()
    {
        if (!chip.sdram_cke || chip.sdram_cs_n)
            return advance(0, false);
        int command = chip.sdram_ras_n << 2 | chip.sdram_cas_n << 1 | chip.sdram_we_n;
        uint32_t column = rows[chip.sdram_ba] << 9 | (chip.sdram_a & 0x1ff) | chip.sdram_ba << 22;
        switch (command) {
        case 0: latency = chip.sdram_a >> 4 & 7; break;
        case 3: rows[chip.sdram_ba] = chip.sdram_a; break;
        case 4: write(words[column]); break;
        default: break;
        }
        advance(words[column], command == 5);
    }

    // The data pins: the chip's where it drives them, else the word read, else what a keeper holds.
    uint16_t pins()
    {
        uint16_t outside = reading ? word : level;
        return level = (outside & ~chip.sdram_dq_driven) | (chip.sdram_dq_level & chip.sdram_dq_driven);
    }

  private:
    Vinterlock &chip;
    std::vector<uint16_t> words;
    std::array<uint32_t, 4> rows{};
    unsigned latency = 2;
    struct Stage {
        uint16_t word;
        bool valid;
    };
    std::array<Stage, 8> pipeline{};
    uint16_t word = 0, level = 0;
    bool reading = false;

    void write(uint16_t &to)
    {
        uint16_t keep = (chip.sdram_dm & 1 ? 0xff : 0) | (chip.sdram_dm & 2 ? 0xff00 : 0);
        to = (to & keep) | (pins() & ~keep);
    }

    // A read's word is on the pins from `latency` - 1 edges after its command, for the chip to take at the next.
    void advance(uint16_t read, bool valid)
    {
        for (unsigned i = pipeline.size() - 1; i > 0; i--)
            pipeline[i] = pipeline[i - 1];
        pipeline[0] = {read, valid};
        word = pipeline[latency - 1].word;
        reading = pipeline[latency - 1].valid;
    }
};

class Console {
  public:
    // A cycle of the system clock.
    void cycle(uint64_t cycle, bool level)
    {
        if (left == 0) {
            if (level)
                return;
            begin = cycle;
            left = 10;
            next = cycle + BIT_CYCLES / 2;
        }
        if (cycle != next)
            return;
        bits = bits >> 1 | (level ? 0x200 : 0);
        next = cycle + BIT_CYCLES;
        if (--left == 0)
            std::printf("%llu: %02x\n", static_cast<unsigned long long>(begin), bits >> 1 & 0xff);
    }

  private:
    static constexpr uint64_t BIT_CYCLES = (CLOCK_HZ + 115'200 / 2) / 115'200;
    uint64_t begin = 0, next = 0;
    unsigned left = 0, bits = 0;
};

} // namespace

int main(int argc, char **argv)
{
    uint64_t cycles = std::strtoull(argv[argc - 1], nullptr, 10);
    Vinterlock chip;
    SDRAM sdram(chip);
    Console console;
    chip.serial_rx = 1;
    chip.sdcard_cmd = 1;
    chip.sdcard_data = 0xf;

    // In 120ths of a cycle of the system clock: its edges, those of the SDRAM's clock, and of the 25 MHz oscillator.
    constexpr uint64_t HALF_PERIOD = 120ull * CLOCK_HZ / 50'000'000;
    static_assert(HALF_PERIOD * 50'000'000 == 120ull * CLOCK_HZ, "the oscillator has its edges between these ticks");
    uint64_t digest = 0xcbf29ce484222325, oscillator = HALF_PERIOD, now = 0;
    auto until = [&](uint64_t time) {
        for (now = time; oscillator <= now; oscillator += HALF_PERIOD) {
            chip.clk25 = !chip.clk25;
            chip.eval();
        }
    };
    for (uint64_t cycle = 0; cycle < cycles; cycle++) {
        auto pins = [&](uint64_t value) { digest = (digest ^ value) * 0x100000001b3; };
        until(120 * cycle);
        chip.sdram_dq = sdram.pins();
        chip.pll_op = 1;
        chip.eval();
        until(120 * cycle + 30);
        bool rose = !chip.sdram_clock;
        chip.pll_os = 1;
        chip.eval();
        if (rose && chip.sdram_clock)
            sdram.clock();
        pins(static_cast<uint64_t>(chip.sdram_a) << 32 | chip.sdram_ba << 16 | chip.sdram_dm << 8 |
             chip.sdram_cke << 5 | chip.sdram_cs_n << 4 | chip.sdram_ras_n << 3 | chip.sdram_cas_n << 2 |
             chip.sdram_we_n << 1 | chip.serial_tx);
        pins(static_cast<uint64_t>(chip.sdram_dq_level & chip.sdram_dq_driven) << 16 | chip.sdram_dq_driven);
        pins(chip.user_led0 | chip.user_led1 << 1 | chip.user_led2 << 2 | chip.user_led3 << 3 | chip.user_led4 << 4 |
             chip.user_led5 << 5 | chip.user_led6 << 6 | chip.user_led7 << 7 | chip.sdcard_clk << 8);
        console.cycle(cycle, chip.serial_tx);
        until(120 * cycle + 60);
        chip.pll_op = 0;
        chip.eval();
        until(120 * cycle + 90);
        chip.pll_os = 0;
        chip.eval();
        if ((cycle + 1) % (1 << 16) == 0) {
            std::printf("%llu pins %016llx\n", static_cast<unsigned long long>(cycle + 1),
                        static_cast<unsigned long long>(digest));
            std::fflush(stdout);
        }
    }
}
