package interlock

import spinal.core._
import spinal.core.fiber._
import spinal.lib._
import spinal.lib.bus.bmb._
import spinal.lib.bus.misc.{DefaultMapping, SizeMapping}
import spinal.lib.bus.wishbone.{WishboneConfig, WishboneToBmbGenerator}
import vexriscv.VexRiscv
import vexriscv.demo.smp.{BmbToLiteDramGenerator, BmbToWishboneGenerator, LiteDramNativeParameter}
import vexriscv.plugin._

/** One VexRiscv, its private I/O port split off its data bus, both buses offered to the interconnect. */
case class HartGenerator(hartId : Int, p : ClusterParameter)(implicit interconnect : BmbInterconnectGenerator)
    extends Area {
  private val config = HartConfig(hartId, p)
  private val iBusParameter = config.get(classOf[IBusCachedPlugin]).config.getBmbParameter()
  private val dBusParameter = config.get(classOf[DBusCachedPlugin]).config.getBmbParameter()

  val iBus, dBus = Handle[Bmb]()
  val invalidationSource, invalidationRequirements = Handle[BmbInvalidationParameter]()

  val logic = Handle(new Area {
    val cpu = new VexRiscv(config)
    val splitter = HartIoSplitter(dBusParameter)
    cpu.service(classOf[DBusCachedPlugin]).dBus.toBmb() >> splitter.io.hart
    iBus.load(cpu.service(classOf[IBusCachedPlugin]).iBus.toBmb())
    dBus.load(splitter.io.shared)
    val csr = cpu.service(classOf[CsrPlugin])
    val probe = cpu.service(classOf[ProbePlugin]).probe
  })

  interconnect.addMaster(accessRequirements = iBusParameter.access, bus = iBus)
  interconnect.addMaster(
    accessRequirements = dBusParameter.access,
    invalidationSource = invalidationSource,
    invalidationCapabilities = invalidationSource,
    invalidationRequirements = invalidationRequirements,
    bus = dBus
  )
}

/** The cluster: harts, coherent interconnect, CLINT, and the ports that hw/cpu/README.md describes. */
class Cluster(p : ClusterParameter) extends Component {
  setDefinitionName("InterlockCluster")

  val external_interrupt = in Bits(p.harts bits)
  val timer_interrupt = out Bits(p.harts bits)
  val hart_io = Vec.fill(p.harts)(master(HartIo()))
  val probe = Vec.fill(p.harts)(out(Probe()))

  val clint = Clint(p.harts)
  val clint_bus = slave(cloneOf(clint.io.bus))
  clint_bus >> clint.io.bus
  timer_interrupt := clint.io.timer

  implicit val interconnect : BmbInterconnectGenerator = BmbInterconnectGenerator()

  // Memory and peripherals: an instruction side, and a data side behind the two monitors that keep harts coherent.
  val mainRam = SizeMapping(0x40000000L, 0x40000000L)
  val liteDram = LiteDramNativeParameter(addressWidth = 32, dataWidth = HartConfig.busWidth)

  val iSide, dCoherent, dOrdered = BmbBridgeGenerator()
  val iBridge, dBridge = BmbToLiteDramGenerator(mainRam)
  iBridge.liteDramParameter.load(liteDram)
  dBridge.liteDramParameter.load(liteDram)
  val peripherals = BmbToWishboneGenerator(DefaultMapping)

  val exclusiveMonitor = ExclusiveMonitorGenerator()
  val invalidateMonitor = BmbInvalidateMonitorGenerator()
  interconnect.addConnection(dCoherent.bmb, exclusiveMonitor.input)
  interconnect.addConnection(exclusiveMonitor.output, invalidateMonitor.input)
  interconnect.addConnection(invalidateMonitor.output, dOrdered.bmb)
  interconnect.addConnection(iSide.bmb, List(iBridge.bmb, peripherals.bmb))
  interconnect.addConnection(dOrdered.bmb, List(dBridge.bmb, peripherals.bmb))
  interconnect.slaves(peripherals.bmb).forceAccessSourceDataWidth(32)
  // A slow peripheral delays only the accesses that wait for it.
  interconnect.masters(invalidateMonitor.output).withOutOfOrderDecoder()
  interconnect.masters(dOrdered.bmb).withOutOfOrderDecoder()

  val dma = WishboneToBmbGenerator()
  dma.config.load(WishboneConfig(addressWidth = 29, dataWidth = HartConfig.busWidth, selWidth = HartConfig.busWidth / 8))
  interconnect.addConnection(dma.bmb, dCoherent.bmb)

  val devicePorts = for(_ <- 0 until p.devicePorts) yield DevicePortGenerator()
  for(port <- devicePorts) interconnect.addConnection(port.bmb, dCoherent.bmb)

  val harts = for(hartId <- 0 until p.harts) yield HartGenerator(hartId, p)
  for(hart <- harts) {
    interconnect.addConnection(hart.iBus, iSide.bmb)
    interconnect.addConnection(hart.dBus, dCoherent.bmb)
    Handle {
      val logic = hart.logic.get
      logic.csr.externalInterrupt := external_interrupt(hart.hartId)
      logic.csr.externalInterruptS := False
      logic.csr.timerInterrupt := clint.io.timer(hart.hartId)
      logic.csr.softwareInterrupt := clint.io.software(hart.hartId)
      logic.csr.utime := clint.io.time
      hart_io(hart.hartId) <> logic.splitter.io.port
      probe(hart.hartId) := logic.probe
    }
  }

  // Registers between the parts, for clock rate: as VexRiscv's own cluster for LiteX has them.
  for(hart <- harts) {
    interconnect.setPipelining(hart.dBus)(cmdValid = true, cmdReady = true, rspValid = true, invValid = true,
      ackValid = true, syncValid = true)
    interconnect.setPipelining(hart.iBus)(cmdHalfRate = true, rspValid = true)
  }
  interconnect.setPipelining(iSide.bmb)(cmdHalfRate = true, rspValid = true)
  interconnect.setPipelining(dCoherent.bmb)(cmdValid = true, cmdReady = true)
  interconnect.setPipelining(dOrdered.bmb)(cmdValid = true, cmdReady = true, rspValid = true)
  interconnect.setPipelining(peripherals.bmb)(cmdHalfRate = true, rspValid = true)
  interconnect.setPipelining(iBridge.bmb)(cmdHalfRate = true)
  interconnect.setPipelining(dBridge.bmb)(cmdReady = true)

  Handle(peripherals.logic.io.output.toIo().setName("pbus"))
  Handle(iBridge.dram.get.setName("ibus"))
  Handle(dBridge.dram.get.setName("dbus"))
  Handle(dma.logic.io.input.toIo().setName("dma_bus"))
  for((port, n) <- devicePorts.zipWithIndex) Handle {
    port.logic.io.native.toIo().setName(s"device_port_$n")
    port.logic.io.busy.toIo().setName(s"device_port_${n}_busy")
  }
}
