"""What soc.fpga.same considers the same, and what not."""

import subprocess
import sys

import pytest

from soc.fpga.same import compare
from support.cache import REPO

BEFORE = """
module top(input clk, input [3:0] a, input b, output reg [3:0] q, output r);
    reg [3:0] kept = 5;
    reg last = 0;
    reg [7:0] memory [0:3];
    reg [1:0] at = 0;
    always @(posedge clk) begin
        at <= a;
        if (b & ~last & a[0]) kept <= kept + a;
        last <= b;
        q <= kept ^ memory[at];
        if (b) memory[a[1:0]] <= {kept, a};
    end
    assign r = (b & last) & a[1];
endmodule
"""
# The same, by other names, in modules, with registers twice, expressions grouped and shared otherwise.
AFTER = """
module counter(input clk, input add, input [3:0] more, output reg [3:0] sum = 5);
    wire [3:0] next = sum + more;
    always @(posedge clk) sum <= add ? next : sum;
endmodule
module top(input clk, input [3:0] a, input b, output reg [3:0] q, output r);
    reg before = 0, again = 0;
    reg [1:0] place = 0;
    reg [7:0] words [0:3];
    wire [3:0] sum;
    wire adds = a[0] & (b & ~again);
    counter counter(clk, adds, a, sum);
    always @(posedge clk) begin
        if (b) words[a[1:0]] <= {sum, a};
        before <= b;
        again <= b;
        place <= a;
        q <= words[place] ^ sum;
    end
    assign r = ~(~b | ~(a[1] & before));
endmodule
"""


@pytest.fixture
def same(tmp_path):
    def compared(after, before=BEFORE):
        (tmp_path / "before.v").write_text(before)
        (tmp_path / "after.v").write_text(after)
        return compare(tmp_path / "before.v", tmp_path / "after.v") is None
    return compared


def test_names_modules_copies_and_grouping_do_not_matter(same):
    assert same(AFTER) and same(BEFORE)


@pytest.mark.parametrize("old, new", [
    ("sum = 5", "sum = 4"), ("a[0] & (b", "a[1] & (b"), ("(b & ~again)", "(b & ~b)"),
    ("add ? next : sum", "add ? sum : next"), ("sum + more", "sum + sum"), ("{sum, a}", "{a, sum}"),
    ("place <= a", "place <= ~a"), ("again <= b", "again <= ~b"), ("~(a[1] & before)", "(a[1] & before)"),
    ("~b |", "b |"), ("if (b) words", "if (adds) words"), ("words[place] ^", "words[a[1:0]] ^"),
    ("words[place] ^ sum", "words[place] | sum"), ("place = 0", "place = 1"),
])
def test_a_change_is_noticed(same, old, new):
    assert AFTER.count(old) == 1
    assert not same(AFTER.replace(old, new))


def test_the_command_says_what_is_not_the_same(tmp_path):
    (tmp_path / "before.v").write_text(BEFORE)
    (tmp_path / "after.v").write_text(AFTER.replace("sum = 5", "sum = 6"))
    command = [sys.executable, "-m", "soc.fpga.same", tmp_path / "before.v"]
    ended = subprocess.run([*command, tmp_path / "after.v"], cwd=REPO, capture_output=True, text=True)
    assert (ended.returncode, ended.stderr.count("\n")) == (1, 1) and "that q do the same" in ended.stderr
    ended = subprocess.run([*command, tmp_path / "none.v"], cwd=REPO, capture_output=True, text=True)
    assert ended.returncode == 1 and "none.v" in ended.stderr and "Traceback" not in ended.stderr
