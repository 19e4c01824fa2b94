package interlock

import spinal.core.{Bool, UInt}
import vexriscv.{Riscv, VexRiscvConfig}
import vexriscv.ip.{DataCacheConfig, InstructionCacheConfig}
import vexriscv.plugin._

/** What a cluster can be built with; hw/cpu/generate.py checks the values and documents them. */
case class ClusterParameter(harts : Int,
                            resetVector : Long,
                            iCacheBytes : Int,
                            iCacheWays : Int,
                            dCacheBytes : Int,
                            dCacheWays : Int,
                            iTlbEntries : Int,
                            dTlbEntries : Int,
                            prediction : BranchPrediction,
                            devicePorts : Int)

object HartConfig {
  val lineBytes = 64
  val busWidth = 64

  /** Physical addresses that are not cached, and whose stores wait for their response. */
  def ioRange(address : UInt) : Bool = address.msb

  /** One hart: RV32IMA Zicsr Zifencei, Sv32, M/S/U. Five stages, as in VexRiscv's own SMP cluster. */
  def apply(hartId : Int, p : ClusterParameter) : VexRiscvConfig = VexRiscvConfig(plugins = List(
    new MmuPlugin(ioRange = ioRange),
    new IBusCachedPlugin(
      resetVector = p.resetVector,
      prediction = p.prediction,
      historyRamSizeLog2 = 9,
      relaxPredictorAddress = true,
      relaxedPcCalculation = true,
      config = InstructionCacheConfig(
        cacheSize = p.iCacheBytes,
        bytePerLine = lineBytes,
        wayCount = p.iCacheWays,
        addressWidth = 32,
        cpuDataWidth = 32,
        memDataWidth = busWidth,
        catchIllegalAccess = true,
        catchAccessFault = true,
        asyncTagMemory = false,
        twoCycleRam = false,
        twoCycleCache = true,
        reducedBankWidth = true
      ),
      memoryTranslatorPortConfig = tlb(p.iTlbEntries)
    ),
    new DBusCachedPlugin(
      dBusCmdSlavePipe = true,
      dBusRspSlavePipe = true,
      relaxedMemoryTranslationRegister = true,
      config = new DataCacheConfig(
        cacheSize = p.dCacheBytes,
        bytePerLine = lineBytes,
        wayCount = p.dCacheWays,
        addressWidth = 32,
        cpuDataWidth = 32,
        memDataWidth = busWidth,
        catchAccessError = true,
        catchIllegal = true,
        catchUnaligned = true,
        withLrSc = true,
        withAmo = true,
        withExclusive = true,
        withInvalidate = true,
        withWriteAggregation = true
      ),
      memoryTranslatorPortConfig = tlb(p.dTlbEntries)
    ),
    new DecoderSimplePlugin(catchIllegalInstruction = true),
    new RegFilePlugin(regFileReadyKind = ASYNC, zeroBoot = false, x0Init = true),
    new IntAluPlugin,
    new SrcPlugin(separatedAddSub = false),
    new FullBarrelShifterPlugin(earlyInjection = true),
    new HazardSimplePlugin(
      bypassExecute = true,
      bypassMemory = true,
      bypassWriteBack = true,
      bypassWriteBackBuffer = true
    ),
    new MulPlugin,
    new MulDivIterativePlugin(genMul = false, genDiv = true, mulUnrollFactor = 32, divUnrollFactor = 1),
    new CsrPlugin(csr(hartId)),
    new BranchPlugin(earlyBranch = true, catchAddressMisaligned = true),
    new FenceIPlugin,
    new AcquirePlugin,
    new ProbePlugin
  ))

  private def tlb(entries : Int) =
    MmuPortConfig(portTlbSize = entries, latency = 1, earlyRequireMmuLockup = true, earlyCacheHits = true)

  private def csr(hartId : Int) : CsrPluginConfig =
    CsrPluginConfig.openSbi(mhartid = hartId, misa = Riscv.misaToInt("imasu")).copy(
      mtvecInit      = 0,
      mcauseAccess   = CsrAccess.READ_WRITE,
      mbadaddrAccess = CsrAccess.READ_WRITE,
      mcycleAccess   = CsrAccess.READ_WRITE,
      minstretAccess = CsrAccess.READ_WRITE,
      ucycleAccess   = CsrAccess.READ_ONLY,
      uinstretAccess = CsrAccess.READ_ONLY,
      utimeAccess    = CsrAccess.READ_ONLY,
      ebreakGen      = true
    )
}
