#include "machine/model.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "Vinterlock___024root.h"
#include "support/failure.h"
#include "support/number.h"
#include "verilated.h"
#include "verilated_save.h"
#ifdef WAVES
#include "verilated_fst_c.h"
#else
class VerilatedFstC {};
#endif

// More cycles than the slowest synchroniser of the reset needs. They come before cycle 0.
constexpr int RESET_CYCLES = 16;

Model::Model() : context(std::make_unique<VerilatedContext>())
{
#ifdef WAVES
    context->traceEverOn(true);
#endif
#ifdef RESET_SEED // for a model whose registers begin with random values: sim/model/verilate.py, RANDOM_RESET
    if (const char *seed = std::getenv(RESET_SEED)) {
        context->randReset(2);
        context->randSeed(int(whole_number(RESET_SEED, seed, INT32_MAX)));
    }
#endif
    top = std::make_unique<Vinterlock>(context.get());
    drives = disk_pins(*top);
    top->uart0_rx = top->uart1_rx = 1;
    top->sys_rst = 1;
    for (int i = 0; i < RESET_CYCLES; i++)
        cycle_whole(); // rising_edge() leaves out the reset
    top->sys_rst = 0;
    inputs_changed = true;
    clear_ram();
}

Model::~Model()
{
#ifdef WAVES
    if (fst)
        fst->close();
#endif
    top->final();
}

void Model::cycle_whole()
{
    if (dumping)
        return cycle_dumped();
    inputs_changed = twice;
    top->sys_clk = 0;
    top->eval();
    top->sys_clk = 1;
    top->eval();
    forget_last_edge(top->rootp);
}

uint8_t *Model::ram()
{
    return reinterpret_cast<uint8_t *>(&top->rootp->interlock__DOT__main_ram_storage[0]);
}

size_t Model::ram_bytes() const
{
    return sizeof top->rootp->interlock__DOT__main_ram_storage;
}

// Pages returned to the system read as zeroes, and are allocated again when written.
static void give_back(uint8_t *begin, size_t bytes)
{
    const uintptr_t page = uintptr_t(sysconf(_SC_PAGESIZE)), from = uintptr_t(begin), to = from + bytes;
    const uintptr_t first = (from + page - 1) / page * page, last = to / page * page;
    bool given = first < last && madvise(reinterpret_cast<void *>(first), last - first, MADV_DONTNEED) == 0;
    std::memset(begin, 0, given ? first - from : bytes);
    if (given)
        std::memset(reinterpret_cast<void *>(last), 0, to - last);
}

void Model::clear_ram()
{
    give_back(ram(), ram_bytes());
}

namespace {

class StateWriter final : public VerilatedSerialize {
  public:
    explicit StateWriter(std::string &to) : to(to) {}
    void flush() override
    {
        to.append(reinterpret_cast<char *>(m_bufp), size_t(m_cp - m_bufp));
        m_cp = m_bufp;
    }

  private:
    std::string &to;
};

class StateReader final : public VerilatedDeserialize {
  public:
    explicit StateReader(const std::string &from) : from(from) { m_endp = m_bufp; }
    void fill() override // keeps what is not read yet, as VerilatedRestore does
    {
        size_t kept = size_t(m_endp - m_cp);
        std::memmove(m_bufp, m_cp, kept);
        size_t more = std::min(bufferSize() - kept, from.size() - at);
        std::memcpy(m_bufp + kept, from.data() + at, more);
        at += more;
        m_cp = m_bufp;
        m_endp = m_bufp + kept + more;
    }

  private:
    const std::string &from;
    size_t at = 0;
};

} // namespace

std::string Model::save()
{
    std::string state;
    StateWriter writer(state);
    writer << *top;
    writer.flush();
    return state;
}

void Model::restore(const std::string &state)
{
    StateReader reader(state);
    reader >> *top;
    inputs_changed = true; // so the next cycle is whole
    constexpr size_t PIECE = 65536;
    static const char zeroes[PIECE] = {};
    for (size_t at = 0; at + PIECE <= ram_bytes(); at += PIECE)
        if (!std::memcmp(ram() + at, zeroes, PIECE))
            give_back(ram() + at, PIECE);
}

// Verilator's own: computes all combinational logic, as before the first cycle.
bool Vinterlock___024root___eval_stl(Vinterlock___024root *root, CData first);

Pokable Model::pokable(const Poke &poke)
{
    std::string names;
    for (const Pokable &pokable : pokables(*top)) {
        if (poke.name == pokable.name) {
            uint64_t most = (uint64_t(1) << pokable.bits) - 1;
            if (poke.value > most)
                throw Failure(format("--poke %s: %u is out of range, 0 to %llu", pokable.name, poke.value,
                                     (unsigned long long)most));
            return pokable;
        }
        names += (names.empty() ? "" : ", ") + std::string(pokable.name);
    }
    throw Failure(format("--poke: there is no register '%s' (valid: %s)", poke.name.c_str(), names.c_str()));
}

void Model::poke(const Poke &poke)
{
    pokable(poke).write(poke.value);
    settle();
}

bool Model::identify(unsigned number, unsigned count)
{
    for (const Pokable &pokable : pokables(*top)) {
        if (std::strcmp(pokable.name, "node"))
            continue;
        pokable.write(count << 16 | number);
        settle();
        return true;
    }
    return false;
}

void Model::settle()
{
    bool first = true;
    while (Vinterlock___024root___eval_stl(top->rootp, first))
        first = false;
    forget_last_edge(top->rootp);
}

#ifdef WAVES
void Model::waves_to(const std::string &path)
{
    fst = std::make_unique<VerilatedFstC>();
    top->trace(fst.get(), 99);
    fst->open(path.c_str());
    if (!fst->isOpen())
        throw Failure(format("cannot write the waves %s", path.c_str()));
}

void Model::waves(bool on, uint64_t cycle)
{
    dumping = on;
    dump_cycle = cycle;
    if (!on)
        fst->flush();
}

void Model::cycle_dumped()
{
    top->sys_clk = 0;
    top->eval();
    if (dump_cycle)
        fst->dump(10 * dump_cycle - 5);
    top->sys_clk = 1;
    top->eval();
    fst->dump(10 * dump_cycle++);
}
#else
void Model::waves_to(const std::string &)
{
    throw Failure("this simulator was built without waves: build it with `python -m sim.model.build --waves`");
}
void Model::waves(bool, uint64_t) {}
void Model::cycle_dumped() {}
#endif
