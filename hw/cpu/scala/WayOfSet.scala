package interlock

import spinal.core._
import spinal.lib._

/** Which way of a cache's set the next line goes to: the ways of each set in turn, so the oldest line goes first.
  *
  * `flush`, which counts the sets and has one bit more than that takes, restarts them at way 0, until its highest bit
  * is set.
  */
object WayOfSet {
  def apply(ways : Int, sets : Int, set : UInt, flush : UInt, filled : Bool) : UInt = new Area {
    val next = Mem(UInt(log2Up(ways) bits), sets)
    val way = next.readAsync(set)
    val flushing = !flush.msb
    next.write(
      address = flushing ? flush.resize(log2Up(sets)) | set,
      data    = flushing ? U(0) | way + 1,
      enable  = flushing || filled
    )
  }.setCompositeName(set, "turn", true).way
}
