// ECP5 block RAM, 18 kbit, true dual port, or one 36-bit write port (A) and one read port (B).
//
// As Lattice's FPGA-TN-02204 describes it and Yosys's brams_16kd.txt uses it. What the hardware leaves open is not left
// to chance: a port that reads what the other one writes in the same cycle gets the complement of what is stored, so a
// netlist that relied on it would be found out. What no netlist of Yosys asks for ends the simulation (see `checked`).
module DP16KD(
  input DIA17, DIA16, DIA15, DIA14, DIA13, DIA12, DIA11, DIA10, DIA9, DIA8, DIA7, DIA6, DIA5, DIA4, DIA3, DIA2, DIA1,
  input DIA0, ADA13, ADA12, ADA11, ADA10, ADA9, ADA8, ADA7, ADA6, ADA5, ADA4, ADA3, ADA2, ADA1, ADA0,
  input CEA, OCEA, CLKA, WEA, RSTA, CSA2, CSA1, CSA0,
  output DOA17, DOA16, DOA15, DOA14, DOA13, DOA12, DOA11, DOA10, DOA9, DOA8, DOA7, DOA6, DOA5, DOA4, DOA3, DOA2, DOA1,
  output DOA0,
  input DIB17, DIB16, DIB15, DIB14, DIB13, DIB12, DIB11, DIB10, DIB9, DIB8, DIB7, DIB6, DIB5, DIB4, DIB3, DIB2, DIB1,
  input DIB0, ADB13, ADB12, ADB11, ADB10, ADB9, ADB8, ADB7, ADB6, ADB5, ADB4, ADB3, ADB2, ADB1, ADB0,
  input CEB, OCEB, CLKB, WEB, RSTB, CSB2, CSB1, CSB0,
  output DOB17, DOB16, DOB15, DOB14, DOB13, DOB12, DOB11, DOB10, DOB9, DOB8, DOB7, DOB6, DOB5, DOB4, DOB3, DOB2, DOB1,
  output DOB0
);
  parameter DATA_WIDTH_A = 18;
  parameter DATA_WIDTH_B = 18;
  parameter REGMODE_A = "NOREG";
  parameter REGMODE_B = "NOREG";
  parameter RESETMODE = "SYNC";
  parameter ASYNC_RESET_RELEASE = "SYNC";
  parameter CSDECODE_A = "0b000";
  parameter CSDECODE_B = "0b000";
  parameter WRITEMODE_A = "NORMAL";
  parameter WRITEMODE_B = "NORMAL";
  parameter CLKAMUX = "CLKA";
  parameter CLKBMUX = "CLKB";
  parameter GSR = "ENABLED";
  parameter INITVAL_00 = 320'h0, INITVAL_01 = 320'h0, INITVAL_02 = 320'h0, INITVAL_03 = 320'h0, INITVAL_04 = 320'h0;
  parameter INITVAL_05 = 320'h0, INITVAL_06 = 320'h0, INITVAL_07 = 320'h0, INITVAL_08 = 320'h0, INITVAL_09 = 320'h0;
  parameter INITVAL_0A = 320'h0, INITVAL_0B = 320'h0, INITVAL_0C = 320'h0, INITVAL_0D = 320'h0, INITVAL_0E = 320'h0;
  parameter INITVAL_0F = 320'h0, INITVAL_10 = 320'h0, INITVAL_11 = 320'h0, INITVAL_12 = 320'h0, INITVAL_13 = 320'h0;
  parameter INITVAL_14 = 320'h0, INITVAL_15 = 320'h0, INITVAL_16 = 320'h0, INITVAL_17 = 320'h0, INITVAL_18 = 320'h0;
  parameter INITVAL_19 = 320'h0, INITVAL_1A = 320'h0, INITVAL_1B = 320'h0, INITVAL_1C = 320'h0, INITVAL_1D = 320'h0;
  parameter INITVAL_1E = 320'h0, INITVAL_1F = 320'h0, INITVAL_20 = 320'h0, INITVAL_21 = 320'h0, INITVAL_22 = 320'h0;
  parameter INITVAL_23 = 320'h0, INITVAL_24 = 320'h0, INITVAL_25 = 320'h0, INITVAL_26 = 320'h0, INITVAL_27 = 320'h0;
  parameter INITVAL_28 = 320'h0, INITVAL_29 = 320'h0, INITVAL_2A = 320'h0, INITVAL_2B = 320'h0, INITVAL_2C = 320'h0;
  parameter INITVAL_2D = 320'h0, INITVAL_2E = 320'h0, INITVAL_2F = 320'h0, INITVAL_30 = 320'h0, INITVAL_31 = 320'h0;
  parameter INITVAL_32 = 320'h0, INITVAL_33 = 320'h0, INITVAL_34 = 320'h0, INITVAL_35 = 320'h0, INITVAL_36 = 320'h0;
  parameter INITVAL_37 = 320'h0, INITVAL_38 = 320'h0, INITVAL_39 = 320'h0, INITVAL_3A = 320'h0, INITVAL_3B = 320'h0;
  parameter INITVAL_3C = 320'h0, INITVAL_3D = 320'h0, INITVAL_3E = 320'h0, INITVAL_3F = 320'h0;

  // 64 slices of 16 rows; a row of 18 bits takes 20 in a slice.
  localparam [64 * 320 - 1:0] INIT = {
    INITVAL_3F, INITVAL_3E, INITVAL_3D, INITVAL_3C, INITVAL_3B, INITVAL_3A, INITVAL_39, INITVAL_38,
    INITVAL_37, INITVAL_36, INITVAL_35, INITVAL_34, INITVAL_33, INITVAL_32, INITVAL_31, INITVAL_30,
    INITVAL_2F, INITVAL_2E, INITVAL_2D, INITVAL_2C, INITVAL_2B, INITVAL_2A, INITVAL_29, INITVAL_28,
    INITVAL_27, INITVAL_26, INITVAL_25, INITVAL_24, INITVAL_23, INITVAL_22, INITVAL_21, INITVAL_20,
    INITVAL_1F, INITVAL_1E, INITVAL_1D, INITVAL_1C, INITVAL_1B, INITVAL_1A, INITVAL_19, INITVAL_18,
    INITVAL_17, INITVAL_16, INITVAL_15, INITVAL_14, INITVAL_13, INITVAL_12, INITVAL_11, INITVAL_10,
    INITVAL_0F, INITVAL_0E, INITVAL_0D, INITVAL_0C, INITVAL_0B, INITVAL_0A, INITVAL_09, INITVAL_08,
    INITVAL_07, INITVAL_06, INITVAL_05, INITVAL_04, INITVAL_03, INITVAL_02, INITVAL_01, INITVAL_00};

  generate
    if (REGMODE_A != "NOREG" || REGMODE_B != "NOREG" || CSDECODE_A != "0b000" || CSDECODE_B != "0b000"
        || ASYNC_RESET_RELEASE != RESETMODE || (RESETMODE != "SYNC" && RESETMODE != "ASYNC")) begin: checked
      initial $fatal(1, "DP16KD: output registers, chip select decoding and mixed resets are not modelled");
    end
  endgenerate

  wire [13:0] ada = {ADA13, ADA12, ADA11, ADA10, ADA9, ADA8, ADA7, ADA6, ADA5, ADA4, ADA3, ADA2, ADA1, ADA0};
  wire [13:0] adb = {ADB13, ADB12, ADB11, ADB10, ADB9, ADB8, ADB7, ADB6, ADB5, ADB4, ADB3, ADB2, ADB1, ADB0};
  wire [17:0] dia = {DIA17, DIA16, DIA15, DIA14, DIA13, DIA12, DIA11, DIA10, DIA9, DIA8, DIA7, DIA6, DIA5, DIA4, DIA3,
                     DIA2, DIA1, DIA0};
  wire [17:0] dib = {DIB17, DIB16, DIB15, DIB14, DIB13, DIB12, DIB11, DIB10, DIB9, DIB8, DIB7, DIB6, DIB5, DIB4, DIB3,
                     DIB2, DIB1, DIB0};
  wire clka = CLKAMUX == "INV" ? ~CLKA : CLKA;
  wire clkb = CLKBMUX == "INV" ? ~CLKB : CLKB;
  wire ena = CEA & ~CSA2 & ~CSA1 & ~CSA0;
  wire enb = CEB & ~CSB2 & ~CSB1 & ~CSB0;

  // Both ports see pairs of rows of 18 bits: 36 bits at the address's upper nine.
  function [35:0] lanes;                     // of the pair, those that an access of this width is for
    input integer width;
    input [13:0] address;
    input write;
    reg [17:0] row;
    begin
      case (width)
        1:       row = 18'h1 << (9 * address[3] + address[2:0]);
        2:       row = 18'h3 << (9 * address[3] + 2 * address[2:1]);
        4:       row = 18'hf << (9 * address[3] + 4 * address[2]);
        9:       row = 18'h1ff << (9 * address[3]);
        default: row = write ? {{9{address[1]}}, {9{address[0]}}} : 18'h3ffff;
      endcase
      if (width == 36)
        lanes = write ? {{9{address[3]}}, {9{address[2]}}, {9{address[1]}}, {9{address[0]}}} : {36{1'b1}};
      else
        lanes = address[4] ? {row, 18'h0} : {18'h0, row};
    end
  endfunction

  function integer place;                    // of the access's lowest bit in the pair
    input integer width;
    input [13:0] address;
    begin
      case (width)
        1:       place = 18 * address[4] + 9 * address[3] + address[2:0];
        2:       place = 18 * address[4] + 9 * address[3] + 2 * address[2:1];
        4:       place = 18 * address[4] + 9 * address[3] + 4 * address[2];
        9:       place = 18 * address[4] + 9 * address[3];
        18:      place = 18 * address[4];
        default: place = 0;
      endcase
    end
  endfunction

  reg [35:0] pairs [0:511];
  integer i;
  initial
    for (i = 0; i < 512; i = i + 1)
      pairs[i] = {INIT[40 * i + 20 +: 18], INIT[40 * i +: 18]};

  // A reset in SYNC mode keeps a write away, and is not held back by the clock enable.
  wire blocka = RESETMODE == "SYNC" && RSTA;
  wire blockb = RESETMODE == "SYNC" && RSTB;
  wire [35:0] writea = ena & WEA & ~blocka ? lanes(DATA_WIDTH_A, ada, 1'b1) : 36'h0;
  wire [35:0] writeb = enb & WEB & ~blockb ? lanes(DATA_WIDTH_B, adb, 1'b1) : 36'h0;
  wire [35:0] dataa = DATA_WIDTH_A == 36 ? {dib, dia} : {18'h0, dia} << place(DATA_WIDTH_A, ada);
  wire [35:0] datab = {18'h0, dib} << place(DATA_WIDTH_B, adb);

  wire        meet = ada[13:5] == adb[13:5];
  wire [35:0] worda = pairs[ada[13:5]] ^ (meet ? writeb : 36'h0);
  wire [35:0] wordb = pairs[adb[13:5]] ^ (meet ? writea : 36'h0);

  always @(posedge clka)
    if (writea != 0)
      for (i = 0; i < 36; i = i + 1)
        if (writea[i])
          pairs[ada[13:5]][i] <= dataa[i];
  always @(posedge clkb)
    if (writeb != 0)
      for (i = 0; i < 36; i = i + 1)
        if (writeb[i])
          pairs[adb[13:5]][i] <= datab[i];

  function [35:0] given;                     // what a read of this width shows of a pair
    input integer width;
    input [13:0] address;
    input [35:0] pair;
    given = (pair & lanes(width, address, 1'b0)) >> place(width, address);
  endfunction

  reg [35:0] qa = 0;
  reg [35:0] qb = 0;
  wire reada = ena & (~WEA | WRITEMODE_A != "NORMAL");
  wire readb = enb & (~WEB | WRITEMODE_B != "NORMAL");
  wire [35:0] nexta = given(DATA_WIDTH_A, ada, WRITEMODE_A == "WRITETHROUGH" ? worda & ~writea | dataa & writea : worda);
  wire [35:0] nextb = given(DATA_WIDTH_B, adb, WRITEMODE_B == "WRITETHROUGH" ? wordb & ~writeb | datab & writeb : wordb);
  generate
    if (RESETMODE == "ASYNC") begin: reset_async
      always @(posedge clka, posedge RSTA)
        if (RSTA) qa <= 0;
        else if (reada) qa <= nexta;
      always @(posedge clkb, posedge RSTB)
        if (RSTB) qb <= 0;
        else if (readb) qb <= nextb;
    end else begin: reset_sync
      always @(posedge clka)
        if (RSTA) qa <= 0;
        else if (reada) qa <= nexta;
      always @(posedge clkb)
        if (RSTB) qb <= 0;
        else if (readb) qb <= nextb;
    end
  endgenerate

  // A read of 36 bits by port B comes out of both.
  wire [17:0] doa = DATA_WIDTH_B == 36 ? qb[17:0] : qa[17:0];
  wire [17:0] dob = DATA_WIDTH_B == 36 ? qb[35:18] : qb[17:0];
  assign {DOA17, DOA16, DOA15, DOA14, DOA13, DOA12, DOA11, DOA10, DOA9, DOA8, DOA7, DOA6, DOA5, DOA4, DOA3, DOA2, DOA1,
          DOA0} = doa;
  assign {DOB17, DOB16, DOB15, DOB14, DOB13, DOB12, DOB11, DOB10, DOB9, DOB8, DOB7, DOB6, DOB5, DOB4, DOB3, DOB2, DOB1,
          DOB0} = dob;
endmodule
