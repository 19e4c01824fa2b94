#include "model.h"

#include "Vinterlock___024root.h"
#include "failure.h"
#include "verilated.h"
#ifdef WAVES
#include "verilated_fst_c.h"
#else
class VerilatedFstC {};
#endif

// As many cycles as the slowest synchroniser of the reset needs, and more. They come before cycle 0.
constexpr int RESET_CYCLES = 16;

Model::Model() : context(std::make_unique<VerilatedContext>())
{
#ifdef WAVES
    context->traceEverOn(true);
#endif
    top = std::make_unique<Vinterlock>(context.get());
    top->uart0_rx = top->uart1_rx = 1;
    top->sys_rst = 1;
    for (int i = 0; i < RESET_CYCLES; i++)
        cycle();
    top->sys_rst = 0;
}

Model::~Model()
{
#ifdef WAVES
    if (fst)
        fst->close();
#endif
    top->final();
}

uint8_t *Model::ram()
{
    return reinterpret_cast<uint8_t *>(&top->rootp->interlock__DOT__main_ram_storage[0]);
}

size_t Model::ram_bytes() const
{
    return sizeof top->rootp->interlock__DOT__main_ram_storage;
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
    throw Failure("this simulator was built without waves: build it with `python -m sim.build --waves`");
}
void Model::waves(bool, uint64_t) {}
void Model::cycle_dumped() {}
#endif
