// The verilated SoC behind the few calls that the harness needs. sim/model/build.py makes `ports.h` from the top
// module's ports and registers: HARTS, hart_pins() and pokables(). What includes it is compiled for each machine: only
// the clock loop.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "Vinterlock.h"
#include "machine/pins.h"
#include "options/poke.h"
#include "ports.h"

class VerilatedFstC;

class Model final : public Pins {
  public:
    Model();
    ~Model();

    // One clock cycle: rising edge, then the outputs hold what the cycle shows. The edge sees the inputs set before.
    // While they do not change, only the edge has to be computed: Verilator's eval() would evaluate everything
    // twice.
    void cycle()
    {
        if (EDGE_ALONE && !inputs_changed)
            rising_edge(top->rootp);
        else
            cycle_whole();
    }

    void set_line(unsigned port, bool level) // what the port receives
    {
        auto &pin = port ? top->uart1_rx : top->uart0_rx;
        inputs_changed |= level != pin;
        pin = level;
    }

    Traced traced() const override
    {
        return {top->trace_cycle, top->trace_hart, top->trace_event, top->trace_argument};
    }
    Told told() const override
    {
        return {top->host_exit_code, top->host_blob_kind, top->host_blob_address, top->host_blob_length};
    }

#if HAS_ETHER
    void set_ether(bool valid, EtherWord word) override
    {
        top->ether_rx_valid = valid;
        top->ether_rx_data = word.data;
        top->ether_rx_last = word.last;
        top->ether_rx_last_be = CData(word.last_be);
        inputs_changed = true;
    }
    void set_ether_link(bool up) override
    {
        inputs_changed |= up != top->ether_link;
        top->ether_link = up;
    }
    EtherWord ether_word() const override
    {
        return {top->ether_tx_data, bool(top->ether_tx_last), top->ether_tx_last_be};
    }
    unsigned ether_speed() const override { return top->ether_speed; }
    unsigned ether_sends() const { return top->ether_tx_valid; }
#else
    void set_ether(bool, EtherWord) override {}
    void set_ether_link(bool) override {}
    EtherWord ether_word() const override { return {}; }
    unsigned ether_speed() const override { return 0; }
    unsigned ether_sends() const { return 0; }
#endif

    // Every cycle by Verilator's eval(), with both edges: slower, to check the fast way against.
    void evaluate_twice() { inputs_changed = twice = true; }

    // Takes effect until the next call. Throws Failure if the file cannot be written, or in a build without
    // waves.
    void waves_to(const std::string &path);
    void waves(bool on, uint64_t cycle);

    // The whole state of the SoC, with main RAM; restore only what the same simulator saved.
    std::string save();
    void restore(const std::string &state);

    // Sets a register between two cycles, as if the value had been stored there. `pokable` throws Failure if there is
    // none of that name, or if it is too narrow.
    Pokable pokable(const Poke &poke);
    void poke(const Poke &poke);

    // The program reads which of several machines it runs on from a register (hw/host). False: this model has none.
    bool identify(unsigned number, unsigned count);

    uint8_t *ram() override;
    size_t ram_bytes() const override;
    void clear_ram(); // and frees its memory: unwritten pages take none
    const Vinterlock &pins() const { return *top; }
    bool strobes() const
    {
        return top->trace_valid | top->host_blob | top->host_exit | ether_sends();
    } // any of them (devices/device.h)
    // The target accepts characters, for far ends with flow control.
    bool console_ready() const { return top->uart0_rts; }
    bool data_line_ready() const { return top->uart1_rts; }
    bool lines_high() const { return top->uart0_tx & top->uart1_tx; }

    unsigned disks() const override { return DISKS; }
    const DiskPins &disk(unsigned unit) const override { return drives[unit]; }
    void disk_size(unsigned unit, uint32_t sectors) override
    {
        *drives[unit].sectors = sectors;
        inputs_changed = true;
    }
    void disk_hand(unsigned unit, bool answer, bool data, uint64_t word) override
    {
        const DiskPins &pin = drives[unit];
        *pin.answer_valid = answer;
        *pin.data_in_valid = data;
        if (answer) { // kind, tag, status, length, each in separate bytes
            *pin.answer = uint32_t((word & 3) | (word >> 8 & 31) << 2 | (word >> 16 & 255) << 7 | (word >> 32) << 15);
        }
        if (data)
            *pin.data_in = word;
        inputs_changed = true;
    }
    bool disks_stir() const
    {
        bool stir = false;
        if constexpr (DISKS != 0)
            for (const DiskPins &pin : drives)
                stir |= pin.says() | pin.takes();
        return stir;
    }
    unsigned pins_away_from_rest() const // a bit for each Pin
    {
        unsigned away = unsigned(!top->uart0_tx) | unsigned(!top->uart1_tx) << 1 | unsigned(top->trace_valid) << 2 |
                        unsigned(top->host_blob) << 3 | unsigned(top->host_exit) << 4 | unsigned(ether_sends()) << 5;
        for (unsigned unit = 0; unit < DISKS; unit++)
            away |= (unsigned(drives[unit].says()) << 6 | unsigned(drives[unit].takes()) << 7) << 2 * unit;
        return away;
    }
    Vinterlock___024root &root() { return *top->rootp; }

    // Recomputes what follows from registers that were written from outside.
    void settle();
    // All of its variables were written from outside, and are consistent.
    void replaced() { forget_last_edge(top->rootp); }
    bool dumps_waves() const { return dumping; }

  private:
    void cycle_whole();
    void cycle_dumped();

    std::unique_ptr<VerilatedContext> context;
    std::unique_ptr<Vinterlock> top;
    std::unique_ptr<VerilatedFstC> fst;
    std::vector<DiskPins> drives;
    bool inputs_changed = true, twice = false;
    bool dumping = false;
    uint64_t dump_cycle = 0;
};
