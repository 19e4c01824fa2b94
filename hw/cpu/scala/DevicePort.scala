package interlock

import spinal.core._
import spinal.core.fiber._
import spinal.lib._
import spinal.lib.bus.bmb._
import vexriscv.demo.smp.{LiteDramNative, LiteDramNativeParameter}

/** A LiteDRAM native port (slave) into the harts' coherent memory, for devices: hw/cpu/README.md, "Device ports".
  *
  * Commands for consecutive words of a cache line are combined, and leave as the fewest transfers of 1, 2, 4 or 8 words
  * aligned to their size. Combined commands leave when the line ends, when the next command does not continue where the
  * last one ended, or when there is none and nothing else is under way. A transfer that writes begins when all its data
  * is here, since it occupies the interconnect until it ends. Answers are passed on as they come, in order.
  */
case class DevicePort(access : BmbAccessParameter) extends Component {
  val lineWords = HartConfig.lineBytes * 8 / HartConfig.busWidth
  val wordBits = log2Up(lineWords)
  val writesMax = 15   // transfers that are not visible to all harts yet

  val io = new Bundle {
    val native = slave(LiteDramNative(DevicePort.parameter))
    val busy = out Bool()   // a write whose command was accepted is not visible to all harts yet
    val bus = master(Bmb(access))
  }

  case class Run() extends Bundle {
    val write = Bool()
    val line  = UInt(DevicePort.parameter.addressWidth - wordBits bits)
    val first = UInt(wordBits bits)
    val count = UInt(wordBits + 1 bits)
  }

  val data = io.native.wdata.queueLowLatency(2 * lineWords, latency = 1)
  val dataCount = Reg(UInt(log2Up(2 * lineWords + 1) bits)) init(0)
  dataCount := dataCount + U(io.native.wdata.fire) - U(data.fire)

  val sent = Stream(Run())

  val gather = new Area {
    val cmd = io.native.cmd
    val open = RegInit(False)
    val run = Reg(Run())
    val (line, word) = (cmd.addr >> wordBits, cmd.addr(wordBits - 1 downto 0))

    val end = run.first +^ run.count
    val full = end.msb
    val goesOn = cmd.valid && cmd.we === run.write && line === run.line && word === end.resized && !full
    val close = open && (full || cmd.valid && !goesOn || !cmd.valid && sent.ready)

    sent.valid := close
    sent.payload := run
    cmd.ready := !open || goesOn || sent.fire

    when(sent.fire) { open := False }
    when(cmd.fire) {
      open := True
      run.count := run.count + 1
      when(!goesOn || !open) {
        run.write := cmd.we
        run.line := line
        run.first := word
        run.count := 1
      }
    }
  }

  val send = new Area {
    val cmd = io.bus.cmd
    val valid = RegInit(False)
    val run = Reg(Run())
    val begun = RegInit(False)
    val beat = Reg(UInt(wordBits bits)) init(0)
    val writes = Reg(UInt(log2Up(writesMax + 1) bits)) init(0)

    // The greatest size, no more than the words present, to which the first word is aligned.
    val sizes = for(n <- wordBits to 0 by -1) yield
      (run.count >= (1 << n)) && (if(n == 0) True else run.first(n - 1 downto 0) === 0)
    val size = OHToUInt(OHMasking.first(B(sizes))).resize(log2Up(wordBits + 1))   // 0 for the greatest
    val words = (U(lineWords) >> size).resize(wordBits + 1)
    val dataHere = RegNext(dataCount) >= words && dataCount >= words

    cmd.valid := valid && (!run.write || data.valid && (begun || dataHere && writes =/= writesMax))
    cmd.opcode := (run.write ? B(Bmb.Cmd.Opcode.WRITE) | B(Bmb.Cmd.Opcode.READ))
    cmd.address := (DevicePort.base >> log2Up(HartConfig.lineBytes) | run.line.resized) @@ run.first @@
      U(0, log2Up(HartConfig.busWidth / 8) bits)
    cmd.length := ((words << log2Up(HartConfig.busWidth / 8)) - 1).resized
    cmd.data := data.data
    cmd.mask := data.we
    cmd.context := B(run.write)
    cmd.last := !run.write || beat === words - 1

    data.ready := cmd.fire && run.write
    val leaves = cmd.fire && cmd.last
    val done = leaves && run.count === words
    sent.ready := !valid || done

    when(cmd.fire) { begun := True; beat := beat + 1 }
    when(leaves) {
      begun := False
      beat := 0
      run.first := (run.first + words).resized
      run.count := run.count - words
    }
    when(done) { valid := False }
    when(sent.fire) {
      valid := True
      run := sent.payload
    }
    writes := writes + U(leaves && run.write) - U(io.bus.sync.fire)
  }

  io.bus.rsp.ready := True
  io.bus.sync.ready := True
  io.native.rdata.valid := io.bus.rsp.valid && !io.bus.rsp.context.lsb
  io.native.rdata.data := io.bus.rsp.data
  io.busy := gather.open && gather.run.write || send.valid && send.run.write || send.writes =/= 0
}

object DevicePort {
  val parameter = LiteDramNativeParameter(addressWidth = 27, dataWidth = HartConfig.busWidth)   // all of main memory
  def base = U(0x40000000L, 32 bits)
}

/** The port as a master of the interconnect, notified when its writes are visible (sync). */
case class DevicePortGenerator()(implicit interconnect : BmbInterconnectGenerator) extends Area {
  val access = BmbAccessParameter(addressWidth = 32, dataWidth = HartConfig.busWidth).addSources(1, BmbSourceParameter(
    lengthWidth  = log2Up(HartConfig.lineBytes),
    contextWidth = 1,
    alignment    = BmbParameter.BurstAlignement.LENGTH,
    alignmentMin = log2Up(HartConfig.busWidth / 8),
    canSync      = true
  ))
  val logic = Handle(DevicePort(access))
  val bmb = Handle(logic.io.bus)
  interconnect.addMaster(accessRequirements = access, bus = bmb)
}
