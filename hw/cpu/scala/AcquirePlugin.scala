package interlock

import spinal.core._
import spinal.lib._
import vexriscv._
import vexriscv.plugin._

/** Makes LR, SC and AMO with the aq bit order the loads behind them, and LR without it those of the same address.
  *
  * These bypass the cache, while the load behind them waits one stage back with the value that it has read from the
  * cache already: as long as the atomic took, invalidations could not reach it, and it would continue with an old
  * value. Here what follows an acquire is fetched again, and what follows any LR: a load of the same address must not
  * see less than the LR did. (After an AMO it cannot: the AMO stored there.) An invalidation that memory ordered before
  * the atomic's response is on its way to the cache before that response, takes 4 cycles there, and is done before the
  * load can read again.
  */
class AcquirePlugin extends Plugin[VexRiscv] {
  private var refetch : Flow[UInt] = null

  override def setup(pipeline : VexRiscv) : Unit = {
    refetch = pipeline.service(classOf[JumpService]).createJumpInterface(pipeline.writeBack, -30)
  }

  override def build(pipeline : VexRiscv) : Unit = {
    import pipeline.config._
    import pipeline.writeBack._

    val dBus = pipeline.service(classOf[DBusCachedPlugin])
    val atomic = input(dBus.MEMORY_LRSC) || input(dBus.MEMORY_AMO)
    val acquires = atomic && input(INSTRUCTION)(26)
    val isLr = input(dBus.MEMORY_LRSC) && !input(dBus.MEMORY_WR)
    refetch.valid := arbitration.isFiring && input(dBus.MEMORY_ENABLE) && (acquires || isLr)
    refetch.payload := input(PC) + 4
    when(refetch.valid) {
      arbitration.flushNext := True
    }
  }
}
