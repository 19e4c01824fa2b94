package interlock

import spinal.core._
import spinal.lib._
import spinal.lib.bus.bmb._

case class HartIoCmd() extends Bundle {
  val write   = Bool()
  val address = UInt(28 bits)
  val data    = Bits(32 bits)
  val mask    = Bits(4 bits)
}

/** A hart's private I/O port; hw/common/hart_io.py says how it behaves. */
case class HartIo() extends Bundle with IMasterSlave {
  val cmd = Stream(HartIoCmd())
  val rsp = Flow(Bits(32 bits))

  override def asMaster() : Unit = {
    master(cmd)
    slave(rsp)
  }
}

object HartIo {
  def isPrivate(address : UInt) : Bool = address(31 downto 28) === 0xE

  /** Stores here do not wait; generate.py puts the same range into the data cache. */
  def isPosted(address : UInt) : Bool = address(31 downto 24) === 0xE1
}

/** Takes a hart's private accesses off its data bus, before anything that harts share.
  *
  * The data cache matches responses by counting, not by tag, and so needs them in order: a load (or a store that waits)
  * looks only at a response that comes when no other is due. Hence
  *  - while a private access is under way, nothing behind it is passed on;
  *  - its response is held until all earlier responses of the shared bus have come. A posted store's is not held:
  *    nothing looks at it, and so a trace store costs no more than any other.
  * Writes also get a sync (the write is visible everywhere), which the cache expects in the order of the writes and, so
  * its book-keeping can follow, at the earliest 3 cycles after the command: `order` remembers which bus a write went to.
  * Invalidations pass untouched, always, so a stalled hart holds up no other.
  */
case class HartIoSplitter(p : BmbParameter) extends Component {
  val io = new Bundle {
    val hart   = slave(Bmb(p))
    val shared = master(Bmb(p))
    val port   = master(HartIo())
  }

  val writesMax = 64   // more than the data cache has outstanding

  io.hart.inv << io.shared.inv
  io.hart.ack >> io.shared.ack

  val order = StreamFifo(Bool(), writesMax)   // a write each: was it private?
  val busy = RegInit(False)                   // a private access is under way

  val cmd = new Area {
    val bus = io.hart.cmd
    val isPrivate = HartIo.isPrivate(bus.address)
    val go = !busy && order.io.push.ready

    io.shared.cmd.valid   := bus.valid && go && !isPrivate
    io.shared.cmd.payload := bus.payload

    io.port.cmd.valid   := bus.valid && go && isPrivate
    io.port.cmd.write   := bus.isWrite
    io.port.cmd.address := bus.address(27 downto 2) @@ U"00"
    io.port.cmd.data    := bus.data.subdivideIn(32 bits).read(bus.address(2, 1 bits))
    io.port.cmd.mask    := bus.mask.subdivideIn(4 bits).read(bus.address(2, 1 bits))
    when(bus.isRead && bus.exclusive) { io.port.cmd.mask := 0xF }   // an AMO's load comes with no byte selected

    bus.ready := go && (isPrivate ? io.port.cmd.ready | io.shared.cmd.ready)

    order.io.push.valid   := bus.fire && bus.isWrite
    order.io.push.payload := isPrivate
  }

  val rsp = new Area {
    // Counted a cycle late, for clock rate: whether a command is accepted is known at the very end of a cycle.
    val sharedSent = RegNext(io.shared.cmd.fire) init(False)
    val sharedPending = Reg(UInt(8 bits)) init(0)
    sharedPending := sharedPending + U(sharedSent) - U(io.shared.rsp.fire && io.shared.rsp.last)

    val answered = RegInit(False) setWhen(io.port.rsp.valid)
    val data     = RegNextWhen(io.port.rsp.payload, io.port.rsp.valid)
    val write    = RegNextWhen(io.port.cmd.write, io.port.cmd.fire)
    val posted   = RegNextWhen(cmd.bus.isWrite && HartIo.isPosted(cmd.bus.address), io.port.cmd.fire)
    val context  = RegNextWhen(cmd.bus.context, io.port.cmd.fire)
    val source   = RegNextWhen(cmd.bus.source, io.port.cmd.fire)

    val deliver = answered && (posted || sharedPending === 0 && !sharedSent)
    when(io.port.cmd.fire) { busy := True }

    io.hart.rsp.valid   := io.shared.rsp.valid || deliver
    io.hart.rsp.payload := io.shared.rsp.payload
    when(deliver) {
      io.hart.rsp.last      := True
      io.hart.rsp.source    := source
      io.hart.rsp.context   := context
      io.hart.rsp.data      := data #* (p.access.dataWidth / 32)
      io.hart.rsp.exclusive := True   // no other hart can reach the port, so LR, SC and AMO always succeed
      io.hart.rsp.setSuccess()
    }
    io.shared.rsp.ready := io.hart.rsp.ready && !deliver

    val done = deliver && io.hart.rsp.ready
    when(done) {
      answered := False
      busy := False
    }
  }

  val sync = new Area {
    val due = Reg(UInt(log2Up(writesMax + 1) bits)) init(0)   // private syncs that may be given
    val isPrivate = order.io.pop.payload
    val mine = order.io.pop.valid && isPrivate && due =/= 0
    due := due + U(RegNext(rsp.done && rsp.write) init(False)) - U(mine && io.hart.sync.ready)

    io.hart.sync.valid   := mine || order.io.pop.valid && !isPrivate && io.shared.sync.valid
    io.hart.sync.payload := io.shared.sync.payload
    io.shared.sync.ready := io.hart.sync.ready && order.io.pop.valid && !isPrivate
    order.io.pop.ready   := io.hart.sync.fire
  }
}
