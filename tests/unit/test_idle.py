"""What may change in an idle cycle: found from the Verilog, Verilator's class and cores' declarations."""

import pytest
from migen import Module, Signal

from hw.common.idle import Clock, Countdown, Follows, Still
from sim.model.idle import idle_table
from sim.model.toolchain import BuildError
from soc.idle import idle_of

VERILOG = """
module top (
    input wire sys_clk
);
wire [7:0] sum;            // follows: not assigned by a clock, <= or not
reg [7:0] chosen;
reg [7:0] held, shown;
reg [31:0] memory[0:3];
reg [47:0] now;
assign sum = held + 8'd1;
always @(*) begin
    chosen <= sum;
end
/* always @(posedge sys_clk) chosen <= 0; */
always @(posedge sys_clk) begin
    now <= (now + 48'd1);
    if (sum == 3)
        {held, shown} <= 16'd0;
    memory[held[1:0]] <= sum;
end
endmodule
"""
HEADER = """
    // DESIGN SPECIFIC STATE
    struct {
        VL_IN8(sys_clk,0,0);
        CData/*7:0*/ top__DOT__sum;
        CData/*7:0*/ top__DOT__chosen;
        CData/*7:0*/ top__DOT__held;
        CData/*7:0*/ top__DOT__shown;
        CData/*0:0*/ top__DOT__held__BRA__3__KET__;
        QData/*47:0*/ top__DOT__now;
        VlUnpacked<IData/*31:0*/, 4> top__DOT__memory;
        VlWide<3>/*64:0*/ __Vtemp_1;
        VlUnpacked<QData/*63:0*/, 64> top__DOT__main_ram_storage;
    };
    // INTERNAL VARIABLES
"""


def table(folder, declared, header=HEADER):
    (folder / "top.v").write_text(VERILOG)
    (folder / "root.h").write_text(header)
    return idle_table(folder / "root.h", [folder / "top.v"], declared, "top")


def kinds(text):
    lines = [line for line in text.splitlines() if "members.push_back" in line]
    return {line.split('"')[1].removeprefix("top__DOT__"): line.rpartition("::")[2].strip(");") for line in lines}


def test_whatever_is_remembered_is_compared(tmp_path):
    assert kinds(table(tmp_path, [])) == {
        "sys_clk": "FREE", "sum": "FREE", "chosen": "FREE", "held": "COMPARED", "shown": "COMPARED",
        "held__BRA__3__KET__": "COMPARED", "now": "COMPARED", "memory": "COMPARED", "__Vtemp_1": "FREE",
        "main_ram_storage": "RAM"}


def test_what_cores_declare_may_move_but_what_has_to_be_still(tmp_path):
    text = table(tmp_path, [{"kind": "clock", "register": "now", "alarms": []},
                            {"kind": "still", "registers": ["held"]}, {"kind": "follows", "registers": ["shown"]}])
    found = kinds(text)
    assert (found["now"], found["held"], found["shown"]) == ("FREE", "COMPARED", "FREE")
    assert "word(root.top__DOT__now, 48)" in text and "table.still.push_back(word(root.top__DOT__held, 8))" in text


@pytest.mark.parametrize("register", ["nowhere", "memory", "inner.now"])
def test_a_register_that_is_not_there(register, tmp_path):
    with pytest.raises(BuildError, match=f"no register {register}, which moves in idle cycles: correct"):
        table(tmp_path, [{"kind": "countdown", "register": register, "end": 0}])


def test_a_member_that_nobody_knows(tmp_path):
    with pytest.raises(BuildError, match="root.h: unknown declaration 'VlNew top__DOT__x;'"):
        table(tmp_path, [], HEADER.replace("CData/*7:0*/ top__DOT__sum;", "VlNew top__DOT__x;"))


def test_cores_are_asked_and_inner_ones_too():
    outer, inner = Module(), Module()
    outer.submodules += inner
    a, b, c = (Signal(name=name) for name in "abc")
    outer.while_idle = [Clock("cpu.cycles", ("cpu.compare",)), Still((a,))]
    inner.while_idle = [Countdown(b, end=1), Follows((c,))]
    assert idle_of(outer, lambda signal: signal.backtrace[-1][0]) == [
        {"kind": "clock", "register": "cpu.cycles", "alarms": ["cpu.compare"]},
        {"kind": "still", "registers": ["a"]},
        {"kind": "countdown", "register": "b", "end": 1},
        {"kind": "follows", "registers": ["c"]}]


def test_a_core_that_says_something_else():
    core = Module()
    core.while_idle = ["quiet"]
    with pytest.raises(TypeError, match="quiet says nothing of idle cycles: use the kinds of hw/common/idle.py"):
        idle_of(core, str)


@pytest.mark.parametrize("before, after, said", [
    ("always @(*) begin", "always_comb begin", "there is 'always_comb'"),
    ("always @(posedge sys_clk) begin", "always_ff @(posedge sys_clk) begin", "there is 'always_ff'"),
    ("always @(*) begin", "always @(sum or held) begin", "there is 'always @(sum or held) begin chosen <= sum'"),
    ("always @(*) begin", "always #5 begin", "there is 'always #5 begin chosen <= sum'"),
    ("always @(*) begin", "always @(sys_clk, sum) begin", "there is 'always @(sys_clk, sum)"),
    ("assign sum", "wire fine; task automatic t; endtask assign sum", "there is 'task'"),
    ("assign sum", "function f; endfunction assign sum", "there is 'function'"),
    ("assign sum", "logic other; assign sum", "there is 'logic'"),
    ("assign sum", "generate endgenerate assign sum", "there is 'generate'"),
    ("assign sum", "force held = 1; assign sum", "there is 'force'"),
    ("assign sum", "`define SET(x) x <= 1\nassign sum", "there is '`define'"),
    ("now <= (now", "`SET(now) <= (now", "there is '`SET'"),
    ("reg [31:0] memory[0:3];", "reg [31:0] \\odd+name ;", "there is the name '\\odd+name'"),
    ("{held, shown} <= 16'd0;", "{held,\n shown} <= 16'd0;", "a clocked block has 'shown} <= 16'd0;'"),
    ("now <= (now", "now\n <= (now", "a clocked block has '<= (now"),
    ("now <= (now + 48'd1);", "now++;", "a clocked block has 'now++;'"),
])
def test_verilog_that_is_not_understood_ends_the_build(tmp_path, monkeypatch, before, after, said):
    assert before in VERILOG
    monkeypatch.setitem(globals(), "VERILOG", VERILOG.replace(before, after, 1))
    with pytest.raises(BuildError) as caught:
        table(tmp_path, [])
    assert str(caught.value).startswith("top.v: ") and said in str(caught.value) and "\n" not in str(caught.value)
    assert "sim/model/idle.py" in str(caught.value)


@pytest.mark.parametrize("text", [
    'initial begin $display("always_ff `define \\\\x // no comment"); end', "(* keep = \"logic\" *) wire task_done;",
    "// function", "/* logic */", "wire [7:0] io_logic_x = memory.task;", "always @* begin chosen = sum; end",
    "`ifdef SYNTHESIS\n`endif"])
def test_words_in_strings_comments_and_names_are_no_constructs(tmp_path, monkeypatch, text):
    before = kinds(table(tmp_path, []))
    monkeypatch.setitem(globals(), "VERILOG", VERILOG.replace("endmodule", f"{text}\nendmodule"))
    assert kinds(table(tmp_path, [])) == before


def test_a_comment_in_a_string_hides_no_register(tmp_path, monkeypatch):
    """A string holds no comment: else all up to the next end of one would be gone."""
    monkeypatch.setitem(globals(), "VERILOG", VERILOG.replace(
        "always @(posedge sys_clk) begin", 'initial $display("/*");\nalways @(posedge sys_clk) begin').replace(
        "endmodule", "/* */ endmodule"))
    assert kinds(table(tmp_path, []))["held"] == "COMPARED"


def test_a_kind_that_nobody_knows(tmp_path):
    with pytest.raises(BuildError, match="a core says 'quiet' of its idle cycles, which is no kind"):
        table(tmp_path, [{"kind": "quiet", "registers": ["held"]}])
    with pytest.raises(BuildError, match="a core says 'quiet' of its idle cycles, which is no kind"):
        table(tmp_path, [{"kind": "quiet", "register": "held"}])
