// ECP5 entry to a clock tree, always open: what stops it while CE is low is not modelled.
module DCCA(input CLKI, input CE, output CLKO);
  assign CLKO = CLKI;
  always @(posedge CLKI) if (!CE) $fatal(1, "DCCA: stopping a clock tree is not modelled");
endmodule
