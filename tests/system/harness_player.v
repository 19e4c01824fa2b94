// Replaces the SoC in tests of only the harness: plays a script of pin changes from main RAM, one step a cycle.
//
// The script begins at main RAM + 0x10000, 64-bit words {op[63:56], hart[55:48], data[31:0]}, two words for some:
//   1 WAIT data cycles                 2 RETIRE pc=data                   3 TRAP cause=data, next word: trap_pc
//   4 IRQ wires=data                   5 SOURCES=data                     6 TRACE argument=data, next word: event
//   7 EXIT code=data                   8 BLOB kind=data, next word {length, address}
//   9 WFI hart on/off=data[0]         10 PRIVILEGE=data                  11 JUMP to word data
//  12 REGISTER hart data, next word: its number   13 LINES uart1, uart0=data[1:0]
// Both serial ports are loops of wire, which a low line holds low. A script goes on after its EXIT.
module interlock (
    input sys_clk, sys_rst, uart0_rx, uart1_rx,
    output uart0_tx, uart1_tx, uart0_rts, uart1_rts,
    output reg host_exit, output reg [31:0] host_exit_code,
    output reg host_blob, output reg [31:0] host_blob_kind, host_blob_address, host_blob_length,
    output reg trace_valid, output reg [3:0] trace_hart, output reg [9:0] trace_event,
    output reg [31:0] trace_argument, output [63:0] trace_cycle,
    output reg [1:0] pic_irq, output reg [31:0] pic_sources,
    output probe0_valid, output [31:0] probe0_pc, output [1:0] probe0_privilege, output probe0_trap,
    output [31:0] probe0_cause, probe0_trap_pc, output probe0_wfi,
    output probe1_valid, output [31:0] probe1_pc, output [1:0] probe1_privilege, output probe1_trap,
    output [31:0] probe1_cause, probe1_trap_pc, output probe1_wfi
);
    localparam WORDS = 65536;
    localparam SCRIPT = 8192;
    reg [63:0] main_ram_storage[0:WORDS-1];

    reg [31:0] at = 0, wait_left = 0;
    reg [63:0] cycle = 0;
    wire [63:0] word = main_ram_storage[(SCRIPT + at) % WORDS], extra = main_ram_storage[(SCRIPT + at + 1) % WORDS];
    wire [7:0] op = word[63:56];
    wire hart = word[48];

    reg [1:0] lines = 2'b11;
    assign uart0_tx = uart0_rx & lines[0];
    assign uart1_tx = uart1_rx & lines[1];
    assign uart0_rts = 1;
    assign uart1_rts = 1;
    assign trace_cycle = cycle - 1;

    reg [1:0] valid = 0, trap = 0, wfi = 0;
    reg [31:0] pc = 0, cause = 0, trap_pc = 0;
    reg [3:0] privilege = 4'b1111;
    assign probe0_valid = valid[0];
    assign probe0_pc = pc;
    assign probe0_privilege = privilege[1:0];
    assign probe0_trap = trap[0];
    assign probe0_cause = cause;
    assign probe0_trap_pc = trap_pc;
    assign probe0_wfi = wfi[0];
    assign probe1_valid = valid[1];
    assign probe1_pc = pc;
    assign probe1_privilege = privilege[3:2];
    assign probe1_trap = trap[1];
    assign probe1_cause = cause;
    assign probe1_trap_pc = trap_pc;
    assign probe1_wfi = wfi[1];

    // The harts' register files, under the names that they have in the SoC.
    if (1) begin : InterlockCluster
        if (1) begin : harts_0_logic_cpu
            reg [31:0] RegFilePlugin_regFile[0:31] /* verilator public */;
        end
        if (1) begin : harts_1_logic_cpu
            reg [31:0] RegFilePlugin_regFile[0:31] /* verilator public */;
        end
    end

    always @(posedge sys_clk) begin
        valid <= 0;
        trap <= 0;
        trace_valid <= 0;
        host_blob <= 0;
        cycle <= cycle + 1;
        if (wait_left != 0) begin
            wait_left <= wait_left - 1;
        end else begin
            at <= at + 1;
            case (op)
                1: wait_left <= word[31:0] - 1;
                2: begin valid[hart] <= 1; pc <= word[31:0]; end
                3: begin trap[hart] <= 1; cause <= word[31:0]; trap_pc <= extra[31:0]; at <= at + 2; end
                4: pic_irq <= word[1:0];
                5: pic_sources <= word[31:0];
                6: begin
                    trace_valid <= 1; trace_hart <= {3'b0, hart}; trace_argument <= word[31:0];
                    trace_event <= extra[9:0]; at <= at + 2;
                end
                7: begin host_exit <= 1; host_exit_code <= word[31:0]; end
                8: begin
                    host_blob <= 1; host_blob_kind <= word[31:0]; host_blob_address <= extra[31:0];
                    host_blob_length <= extra[63:32]; at <= at + 2;
                end
                9: wfi[hart] <= word[0];
                10: privilege[2 * hart +: 2] <= word[1:0];
                11: at <= word[31:0];
                12: begin
                    if (hart) InterlockCluster.harts_1_logic_cpu.RegFilePlugin_regFile[extra[4:0]] <= word[31:0];
                    else InterlockCluster.harts_0_logic_cpu.RegFilePlugin_regFile[extra[4:0]] <= word[31:0];
                    at <= at + 2;
                end
                13: lines <= word[1:0];
                default: at <= at;
            endcase
        end
        if (sys_rst) begin
            at <= 0; wait_left <= 0; cycle <= 0; host_exit <= 0; pic_irq <= 0; pic_sources <= 0;
            wfi <= 0; privilege <= 4'b1111; lines <= 2'b11;
        end
    end
endmodule
