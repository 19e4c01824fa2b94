package interlock

import spinal.core._
import spinal.core.fiber.Handle
import vexriscv.plugin.{DYNAMIC, NONE, STATIC}

/** Writes InterlockCluster.v. Arguments: the folder to write to, then key=value for each field of ClusterParameter. */
object Generate {
  def main(args : Array[String]) : Unit = {
    val value = args.tail.map(_.split("=", 2)).map(pair => pair(0) -> pair(1)).toMap
    val parameter = ClusterParameter(
      harts       = value("harts").toInt,
      resetVector = value("reset_vector").toLong,
      iCacheBytes = value("icache_bytes").toInt,
      iCacheWays  = value("icache_ways").toInt,
      dCacheBytes = value("dcache_bytes").toInt,
      dCacheWays  = value("dcache_ways").toInt,
      iTlbEntries = value("itlb_entries").toInt,
      dTlbEntries = value("dtlb_entries").toInt,
      prediction  = Map("none" -> NONE, "static" -> STATIC, "dynamic" -> DYNAMIC)(value("prediction")),
      devicePorts = value("device_ports").toInt
    )
    // Since 2023 Handle.load waits for its source at once, which hangs the BMB generators written before.
    Handle.loadHandleAsync = true
    SpinalConfig(
      targetDirectory = args.head,
      defaultConfigForClockDomains = ClockDomainConfig(resetKind = SYNC),
      headerWithDate = false,
      headerWithRepoHash = false
    ).generateVerilog(new Cluster(parameter))
  }
}
