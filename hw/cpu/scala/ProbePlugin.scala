package interlock

import spinal.core._
import spinal.lib._
import vexriscv._
import vexriscv.plugin._

/** What a simulator may watch of a hart, at no cost to it: nothing in the netlist reads these. */
case class Probe() extends Bundle {
  val valid     = Bool()          // an instruction retired in this cycle
  val pc        = UInt(32 bits)   // its address
  val privilege = UInt(2 bits)    // 0 user, 1 supervisor, 3 machine
  val trap      = Bool()          // a trap is taken in this cycle
  val cause     = Bits(32 bits)   // with trap: as mcause, bit 31 set for an interrupt
  val trapPc    = UInt(32 bits)   // with trap: what mepc or sepc will hold
  val wfi       = Bool()          // the hart waits in WFI, all earlier instructions done
}

class ProbePlugin extends Plugin[VexRiscv] {
  var probe : Probe = null

  override def setup(pipeline : VexRiscv) : Unit = {
    probe = out(Probe()).setName("probe")
  }

  override def build(pipeline : VexRiscv) : Unit = {
    import pipeline._
    import pipeline.config._

    val csr = pipeline.service(classOf[CsrPlugin])
    probe.valid     := writeBack.arbitration.isFiring
    probe.pc        := writeBack.input(PC)
    probe.privilege := csr.privilege
    probe.trap      := csr.trapTaken
    probe.cause     := csr.trapIsInterrupt ## csr.trapCode.resize(31 bits)
    probe.trapPc    := csr.trapPc
    probe.wfi       := csr.inWfi && !memory.arbitration.isValid && !writeBack.arbitration.isValid
  }
}
