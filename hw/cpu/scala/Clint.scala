package interlock

import spinal.core._
import spinal.lib._
import spinal.lib.bus.wishbone.{Wishbone, WishboneConfig}

object Clint {
  val busConfig = WishboneConfig(addressWidth = 14, dataWidth = 32, selWidth = 4)
}

/** Core-local interruptor in SiFive's layout: msip at 0x0000 + 4 h, mtimecmp at 0x4000 + 8 h, mtime (read only) at 0xBFF8.
  *
  * mtime counts clock cycles from reset. Every mtimecmp starts at its greatest value, so no timer is due after reset. An
  * access takes two cycles; loads elsewhere give 0.
  */
case class Clint(harts : Int) extends Component {
  val io = new Bundle {
    val bus = slave(Wishbone(Clint.busConfig))
    val timer, software = out Bits(harts bits)
    val time = out UInt(64 bits)
  }

  val time = Reg(UInt(64 bits)) init(0)
  time := time + 1
  io.time := time

  val msip = Vec.fill(harts)(RegInit(False))
  val mtimecmp = Vec.fill(harts)(Reg(Bits(64 bits)) init(B(64 bits, default -> true)))
  for(hart <- 0 until harts) {
    io.software(hart) := msip(hart)
    io.timer(hart) := RegNext(time >= mtimecmp(hart).asUInt) init(False)
  }

  val ack = RegInit(False)
  val access = io.bus.CYC && io.bus.STB && !ack
  ack := access
  io.bus.ACK := ack

  val read = B(0, 32 bits)
  io.bus.DAT_MISO := RegNext(read)

  /** Gives a 32-bit word an address; the bytes chosen by SEL are written. */
  private def word(byteAddress : Int, value : Bits, writable : Boolean) : Unit = {
    when(io.bus.ADR === byteAddress / 4) {
      read := value.resized
      if(writable) when(access && io.bus.WE) {
        for((byte, i) <- value.subdivideIn(8 bits, strict = false).zipWithIndex) when(io.bus.SEL(i)) {
          byte := io.bus.DAT_MOSI(8 * i, widthOf(byte) bits)
        }
      }
    }
  }

  for(hart <- 0 until harts) {
    when(io.bus.ADR === hart) {
      read(0) := msip(hart)
      when(access && io.bus.WE && io.bus.SEL(0)) { msip(hart) := io.bus.DAT_MOSI(0) }
    }
    word(0x4000 + 8 * hart, mtimecmp(hart)(31 downto 0), writable = true)
    word(0x4004 + 8 * hart, mtimecmp(hart)(63 downto 32), writable = true)
  }
  word(0xBFF8, time.asBits(31 downto 0), writable = false)
  word(0xBFFC, time.asBits(63 downto 32), writable = false)
}
