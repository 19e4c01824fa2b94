// Replaces a board's PLL, clock output and pads on a bench, which makes the clocks and joins the pads itself.
module BENCH_PLL(
  input CLKI, RST, STDBY, OP, OS,
  output CLKOP, CLKOS, CLKOS2, LOCK
);
  parameter CLKFB_DIV = 1, CLKI_DIV = 1, FEEDBK_PATH = "", CLKOP_CPHASE = 0, CLKOP_DIV = 1, CLKOP_FPHASE = 0;
  parameter CLKOS_CPHASE = 0, CLKOS_DIV = 1, CLKOS_FPHASE = 0, CLKOS2_CPHASE = 0, CLKOS2_DIV = 1, CLKOS2_FPHASE = 0;
  parameter CLKOP_ENABLE = "", CLKOS_ENABLE = "", CLKOS2_ENABLE = "";
  assign CLKOP = OP;
  assign CLKOS = OS;
  assign CLKOS2 = 1'b0;
  assign LOCK = 1'b1;
endmodule

module BENCH_PAD(input B, input I, input T, output O, output DRIVEN, output LEVEL);
  parameter DIR = "BIDIR";
  assign O = B;
  assign DRIVEN = ~T;
  assign LEVEL = I;
endmodule

module ODDRX1F(input SCLK, D0, D1, RST, output Q);
  parameter GSR = "ENABLED";
  assign Q = SCLK ? D0 : D1;
endmodule
