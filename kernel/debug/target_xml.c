/*
 * The description of the registers for GDB (Debugging with GDB, appendix "Target Descriptions", RISC-V features). They
 * numbered in this order, from 0.
 */
#include "debug/harts.h"
#include "debug/target.h"

#define REGISTER(name, type) "<reg name=\"" name "\" bitsize=\"32\" type=\"" type "\"/>"
#define INT(name) REGISTER(name, "int")
#define CSR(name) INT(#name)

const char debug_target_xml[] =
    "<?xml version=\"1.0\"?><!DOCTYPE target SYSTEM \"gdb-target.dtd\"><target version=\"1.0\">"
    "<architecture>riscv:rv32</architecture><osabi>none</osabi><feature name=\"org.gnu.gdb.riscv.cpu\">" INT("zero")
        REGISTER("ra", "code_ptr") REGISTER("sp", "data_ptr") REGISTER("gp", "data_ptr") REGISTER("tp", "data_ptr")
            INT("t0") INT("t1") INT("t2") REGISTER("fp", "data_ptr") INT("s1") INT("a0") INT("a1") INT("a2") INT("a3")
                INT("a4") INT("a5") INT("a6") INT("a7") INT("s2") INT("s3") INT("s4") INT("s5") INT("s6") INT("s7") INT(
                    "s8") INT("s9") INT("s10") INT("s11") INT("t3") INT("t4") INT("t5") INT("t6")
                    REGISTER("pc", "code_ptr") "</feature><feature name=\"org.gnu.gdb.riscv.csr\">" DEBUG_CSRS(
                        CSR) "</feature><feature name=\"org.gnu.gdb.riscv.virtual\">" INT("priv") "</feature></target>";
