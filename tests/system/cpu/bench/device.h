// The device at the cluster's device port in the bench: it moves a piece of memory as fast as the port takes it, or
// reads and writes at random beside the harts, against a model.
//
// At random: of each line of 8 words the even ones are the device's, which writes ever greater values, and the odd ones
// the harts' (in their low half). Reads of its own words give what the model has; of the harts', no value older than
// one seen before, or promised by a hart after its fence. When the port says that all writes are visible, the model's
// values are published: a hart that looks one up and then reads the word must find it, or a later one.
//
// Planted faults, which must make the run fail: 1, the device's writes go to memory around the cluster,
// so that caches keep stale lines; 2, its reads are up to 256 cycles old, as if a cache had kept the newer value.
#pragma once
#include <cstdint>
#include <deque>
#include <random>
#include <string>
#include <vector>

struct NativeSlave {
    CData &cmdValid, &cmdReady, &cmdWe;
    IData &cmdAddress;
    CData &wValid, &wReady;
    QData &wData;
    CData &wMask, &rValid;
    QData &rData;
    CData &busy;
};

class Device {
  public:
    std::string error = "";

    Device(NativeSlave port, std::vector<uint64_t> &ram, std::mt19937 &rng, uint32_t fault)
        : port(port), ram(ram), rng(rng), fault(fault)
    {
    }

    uint32_t load(uint32_t offset) const
    {
        return offset == 0x34 ? sum : offset == 0x38 ? mode != IDLE : offset == 0x3C ? cycles : 0;
    }
    void store(uint32_t offset, uint32_t data, uint64_t cycle)
    {
        if (offset == 0x30)
            address = data / 8 % (1 << 27);
        else if (offset == 0x34)
            words = data;
        else if (offset == 0x38)
            start(data, cycle);
    }
    void look(uint32_t hart, uint32_t index) { looked[hart] = index; }
    uint32_t published(uint32_t hart) const { return looked[hart] < visible.size() ? visible[looked[hart]] : 0; }
    void promise(uint32_t data)
    {
        if (data >> 16 < floors.size())
            raise(floors[data >> 16], data & 0xFFFF);
    }

    void drive()
    {
        if (mode == RANDOM && queue.empty() && !stopping && !(rest && rest--))
            invent();
        bool hesitate = mode == RANDOM && rng() % 8 == 0;
        // An offered command stays until it is taken.
        if (!offered)
            offered = !queue.empty() && !hesitate;
        port.cmdValid = offered;
        if (offered)
            port.cmdWe = queue.front().write, port.cmdAddress = queue.front().at;
        if (!dataOffered)
            dataOffered = !data.empty() && !(mode == RANDOM && rng() % 8 == 0);
        port.wValid = dataOffered;
        port.wData = dataOffered ? data.front().value : rng();
        port.wMask = dataOffered ? data.front().mask : 0xFF;
    }

    void clock(uint64_t cycle)
    {
        if (fault == DIRTY && mode == RANDOM && cycle % 256 == 0)
            before.assign(&ram[address % ram.size()], &ram[address % ram.size()] + words);
        if (port.rValid)
            answer(port.rData);
        if (port.wValid && port.wReady)
            data.pop_front(), dataOffered = false;
        bool quiet = queue.empty() && data.empty() && waiting.empty() && !port.busy && !port.cmdValid;
        if (port.cmdValid && port.cmdReady) {
            Word word = queue.front();
            queue.pop_front();
            offered = false;
            if (word.write) {
                data.push_back({word.value, word.mask});
                if (mode == RANDOM && word.mask)
                    model[word.at - base()] = word.value;
            } else {
                waiting.push_back({word.at, mode == RANDOM ? expected(word.at - base()) : 0});
            }
        } else if (quiet && mode == RANDOM) {
            visible = model;
            if (stopping)
                mode = IDLE;
        } else if (quiet && mode != IDLE) {
            mode = IDLE;
            cycles = cycle - began;
        }
    }

  private:
    enum Fault { NONE, STALE, DIRTY };
    enum Mode { IDLE, WRITE, READ, RANDOM };
    struct Word {
        uint32_t at;
        bool write;
        uint64_t value;
        uint8_t mask;
    };
    struct Data {
        uint64_t value;
        uint8_t mask;
    };
    struct Read {
        uint32_t at;
        uint64_t least;
    };

    NativeSlave port;
    std::vector<uint64_t> &ram;
    std::mt19937 &rng;
    uint32_t fault;
    Mode mode = IDLE;
    bool offered = false, dataOffered = false, stopping = false;
    uint32_t address = 0, words = 0, sum = 0, cycles = 0, rest = 0, version = 0;
    uint64_t began = 0;
    std::deque<Word> queue;
    std::deque<Data> data;
    std::deque<Read> waiting;
    std::vector<uint64_t> model, visible, floors, before;
    uint32_t looked[16] = {};

    uint32_t base() const { return address; }
    static bool isMine(uint32_t index) { return index % 2 == 0; }
    uint64_t expected(uint32_t index) const { return isMine(index) ? model[index] : floors[index]; }
    static void raise(uint64_t &value, uint64_t to)
    {
        if (to > value)
            value = to;
    }

    void start(uint32_t what, uint64_t cycle)
    {
        if (what == 4) {
            stopping = true;
            return;
        }
        mode = Mode(what);
        began = cycle;
        sum = 0;
        stopping = false;
        if (mode == RANDOM) {
            model.assign(words, 0), visible.assign(words, 0), floors.assign(words, 0);
        } else {
            for (uint32_t i = 0; i < words; i++)
                queue.push_back({address + i, mode == WRITE, i + 1, 0xFF});
        }
    }

    // Some reads and writes of pieces of memory, and then perhaps a pause, until all is visible or not.
    void invent()
    {
        for (uint32_t n = 1 + rng() % 6; n; n--) {
            uint32_t from = rng() % words, length = rng() % 4 ? 1 + rng() % 17 : 1;
            bool write = rng() % 2;
            for (uint32_t i = from; i < from + length && i < words; i++) {
                bool mine = isMine(i);
                if (write && mine)
                    version++;
                if (fault == STALE && write) {
                    if (mine)
                        ram[(address + i) % ram.size()] = model[i] = version;
                    continue;
                }
                queue.push_back({address + i, write, version, uint8_t(mine ? 0xFF : 0)});
            }
        }
        rest = rng() % 3 ? 0 : rng() % 100;
    }

    void answer(uint64_t value)
    {
        if (waiting.empty()) {
            error = "data without a read";
            return;
        }
        Read read = waiting.front();
        waiting.pop_front();
        sum += value;
        if (mode != RANDOM)
            return;
        uint32_t index = read.at - base();
        if (fault == DIRTY && index < before.size())
            value = before[index];
        // A planted fault may show only in what harts and device tell each other.
        if (isMine(index) ? !fault && value != read.least : (uint32_t)value < read.least)
            error = "word " + std::to_string(index) + " is " + std::to_string(value) + ", wanted " +
                    std::to_string(read.least);
        if (!isMine(index))
            raise(floors[index], (uint32_t)value);
    }
};
