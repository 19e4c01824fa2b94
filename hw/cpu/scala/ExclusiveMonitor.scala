package interlock

import spinal.core._
import spinal.core.fiber._
import spinal.lib._
import spinal.lib.bus.bmb._
import spinal.lib.bus.misc.DefaultMapping

/** Where LR, SC and AMO of all harts become atomic: one stream of commands, in the order in which memory performs them.
  *
  * A load with `exclusive` reserves its 8 bytes for its hart; any hart's store to them ends the reservation; a store
  * with `exclusive` is performed only if its hart's reservation still stands (else it passes with no byte selected).
  *
  * An AMO is such a load and store of its own, nothing between, and is retried if the store is not performed. With only
  * that, harts that spin on a lock with AMOs could for ever come between the load and the store of the hart that is to
  * release it. So the load of an AMO (the data cache marks it: no byte selected) is parked while another hart's AMO on
  * the same 8 bytes is between its load and its store, and parked AMOs continue in turn.
  */
case class ExclusiveMonitor(p : BmbParameter) extends Component {
  val io = new Bundle {
    val input  = slave(Bmb(p))
    val output = master(Bmb(BmbExclusiveMonitor.outputParameter(p.access), p.invalidation))
  }

  io.input.inv  << io.output.inv
  io.input.ack  >> io.output.ack
  io.input.sync << io.output.sync

  private def place(address : UInt) = address >> 3
  private val harts = p.access.sources.toSeq.filter(_._2.canExclusive).map(_._1)

  val reservations = for(hart <- harts) yield new Area {
    val valid, amo = RegInit(False)
    val at = Reg(place(io.input.cmd.address))
    def holds(there : UInt) = valid && amo && at === there
  }
  val parked = for(hart <- harts) yield new Area {
    val valid = RegInit(False)
    val cmd = Reg(cloneOf(io.input.cmd.payload))
    def waits(there : UInt) = valid && place(cmd.address) === there
  }

  val input = new Area {
    val cmd = io.input.cmd
    val at = place(cmd.address)
    val here = harts.map(cmd.source === _)
    val isLoad = cmd.isRead && cmd.exclusive
    val isAmoLoad = isLoad && cmd.mask === 0
    val park = isAmoLoad && harts.indices.map(h => !here(h) && (reservations(h).holds(at) || parked(h).waits(at))).orR
    val success = harts.indices.map(h => here(h) && reservations(h).valid && reservations(h).at === at).orR
    val performed = !cmd.exclusive || success
    // A write of several words ends the reservations in all its line: they may be lost, but never be kept in error.
    val severalWords = cmd.length >= 8
    def reaches(there : UInt) = there === at || severalWords && (there >> 3) === (at >> 3)
  }

  // Of the parked AMOs that are not blocked any more, one at a time takes the reservation and is sent on.
  val turn = new Area {
    val free = B(for(h <- harts.indices) yield {
      val at = place(parked(h).cmd.address)
      parked(h).valid && !harts.indices.filter(_ != h).map(reservations(_).holds(at)).orR
    })
    val last = Reg(Bits(harts.size bits)) init(1)   // whose turn it was
    val next = OHMasking.roundRobin(free, (last ## last.msb).resize(harts.size bits))
    val sending = Stream(cloneOf(io.input.cmd.payload))
    val idle = RegInit(True)
    val cmd = Reg(cloneOf(io.input.cmd.payload))
    sending.valid := !idle
    sending.payload := cmd
    when(sending.fire) { idle := True }
  }

  val output = new Area {
    val inline = io.input.cmd.throwWhen(input.park)
    val arbiter = StreamArbiterFactory().lowerFirst.fragmentLock.build(cloneOf(io.input.cmd.payload), 2)
    arbiter.io.inputs(0) << turn.sending
    arbiter.io.inputs(1) << inline
    val chosen = arbiter.io.output
    val isInline = arbiter.io.chosen === 1
    val fails = chosen.exclusive && chosen.isWrite && !input.success   // a store is always inline

    io.output.cmd.arbitrationFrom(chosen)
    io.output.cmd.payload.assignSomeByName(chosen.payload)
    io.output.cmd.context.removeAssignments() :=
      (chosen.exclusive && chosen.isWrite && input.success) ## chosen.context
    when(fails) { io.output.cmd.mask := 0 }
  }

  when(output.inline.fire) {
    for(h <- harts.indices) {
      when(input.cmd.isWrite && (input.performed && input.reaches(reservations(h).at) || input.cmd.exclusive && input.here(h))) {
        reservations(h).valid := False
      }
      when(input.isLoad && input.here(h)) {
        reservations(h).valid := True
        reservations(h).amo := input.isAmoLoad
        reservations(h).at := input.at
      }
    }
  }
  for(h <- harts.indices) {
    when(input.cmd.fire && input.park && input.here(h)) {
      parked(h).valid := True
      parked(h).cmd := input.cmd.payload
    }
    when(turn.idle && turn.next(h)) {
      parked(h).valid := False
      reservations(h).valid := True
      reservations(h).amo := True
      reservations(h).at := place(parked(h).cmd.address)
      turn.cmd := parked(h).cmd
      turn.idle := False
      turn.last := turn.next
    }
  }

  io.input.rsp.arbitrationFrom(io.output.rsp)
  io.input.rsp.payload.assignSomeByName(io.output.rsp.payload)
  io.input.rsp.context.removeAssignments() := io.output.rsp.context.resized
  io.input.rsp.exclusive := io.output.rsp.context.msb
}

/** The monitor as a node of the interconnect, as SpinalHDL's BmbExclusiveMonitorGenerator is. */
case class ExclusiveMonitorGenerator()(implicit interconnect : BmbInterconnectGenerator) extends Area {
  val input = Handle(logic.io.input)
  val output = Handle(logic.io.output)

  val source = Handle[BmbAccessCapabilities]()
  val requirements = Handle[BmbAccessParameter]()
  val outputInvalidation, invalidation = Handle[BmbInvalidationParameter]()

  interconnect.addSlave(
    accessSource = source,
    accessCapabilities = source,
    accessRequirements = requirements,
    invalidationRequirements = invalidation,
    bus = input,
    mapping = DefaultMapping
  )
  interconnect.addMaster(
    accessRequirements = requirements.produce(BmbExclusiveMonitor.outputParameter(requirements)),
    invalidationSource = outputInvalidation,
    invalidationCapabilities = outputInvalidation,
    invalidationRequirements = invalidation,
    bus = output
  )

  val logic = Handle(ExclusiveMonitor(BmbParameter(requirements, invalidation)))
}
