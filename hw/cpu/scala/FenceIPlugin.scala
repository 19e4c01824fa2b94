package interlock

import spinal.core._
import spinal.lib._
import vexriscv._
import vexriscv.plugin._

/** Makes FENCE.I take effect for the very next instruction.
  *
  * VexRiscv flushes the instruction cache but leaves earlier stores in their write buffer and keeps what it has fetched
  * already. Here FENCE.I waits in execute until every earlier store has been performed (its sync has come), and then
  * redirects the fetch to the instruction after it. The instruction cache is flushed all the while (generate.py moves
  * its flush from decode to execute), so nothing older survives.
  */
class FenceIPlugin extends Plugin[VexRiscv] {
  object IS_FENCE_I extends Stageable(Bool())

  private var refetch : Flow[UInt] = null

  override def setup(pipeline : VexRiscv) : Unit = {
    val decoder = pipeline.service(classOf[DecoderService])
    decoder.addDefault(IS_FENCE_I, False)
    decoder.add(Riscv.FENCE_I, List(IS_FENCE_I -> True))
    refetch = pipeline.service(classOf[JumpService]).createJumpInterface(pipeline.execute, -30)
  }

  override def build(pipeline : VexRiscv) : Unit = {
    import pipeline._
    import pipeline.config._

    val dBus = pipeline.service(classOf[DBusCachedPlugin]).dBus
    val stores = pipeline plug new Area {
      // Counted a cycle late, for clock rate: whether a command is accepted is known at the very end of a cycle.
      val sent = RegNext(dBus.cmd.fire && dBus.cmd.wr) init(False)
      val count = Reg(UInt(8 bits)) init(0)   // stores on their way; the cache itself allows 64
      count := count + U(sent) - (dBus.sync.fire ? (dBus.sync.aggregated +^ 1) | U(0))
      val pending = count =/= 0 || sent || dBus.cmd.valid
    }

    execute plug new Area {
      import execute._
      val selected = arbitration.isValid && input(IS_FENCE_I)
      when(selected && (memory.arbitration.isValid || writeBack.arbitration.isValid || stores.pending)) {
        arbitration.haltItself := True
      }
      refetch.valid := selected && !arbitration.isStuck
      refetch.payload := input(PC) + 4
      when(refetch.valid) {
        arbitration.flushNext := True
      }
    }
  }
}
