// Writes a trace that https://ui.perfetto.dev opens: tracks of slices, instants and counters, as Perfetto's protobuf
// packets (perfetto/trace/trace_packet.proto), which need no library to write. The file of a run that breaks off is a
// whole trace, too.
#pragma once
#include <cstdint>
#include <map>
#include <string>

#include "support/files.h"

class PerfettoTrace {
  public:
    using Track = uint64_t;

    // A cycle is a point of simulated time. Throws Failure, as all that write here.
    PerfettoTrace(const std::string &path, uint64_t clock_hz);

    // A group shows only its children. Tracks of a parent are in the order in which they were made.
    Track group(const std::string &name, Track parent = 0) { return track(name, parent, Kind::SLICES); }
    Track slices(const std::string &name, Track parent) { return track(name, parent, Kind::SLICES); }
    Track counter(const std::string &name, Track parent) { return track(name, parent, Kind::COUNTER); }

    void begin(Track track, const std::string &name, uint64_t cycle); // inside the one begun before
    void end(Track track, uint64_t cycle); // the innermost
    void instant(Track track, const std::string &name, uint64_t cycle);
    void value(Track track, double value, uint64_t cycle);
    void close() { file.close(); }

  private:
    enum class Kind { SLICES, COUNTER };
    class Message;

    Track track(const std::string &name, Track parent, Kind kind);
    void event(unsigned type, Track track, const std::string *name, const double *value, uint64_t cycle);
    void packet(Message &message);

    OutFile file;
    uint64_t clock_hz;
    Track tracks = 0;
    std::map<std::string, uint64_t> names; // each is written once, and referenced by number from then on
};
