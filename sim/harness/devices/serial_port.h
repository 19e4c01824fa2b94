// The far ends of the serial ports: the console and the data line.
#pragma once
#include <functional>

#include "devices/device.h"
#include "devices/player.h"
#include "devices/serial.h"
#include "devices/terminal.h"
#include "support/files.h"
#include "support/hash.h"

// The line to one port and back: bytes at their bit rate. What comes from the target goes to `byte`, and over the wire
// if one begins here.
class SerialPort : public Device {
  public:
    // `drive` sets the level of the target's receive pin; `life` is set when something happens.
    SerialPort(std::string name, Pin transmit, Arguments::Console far_end, std::function<void(bool)> drive,
               BitRate rate, bool &life);

    void send(const void *data, size_t length, uint64_t cycle); // to the target; the caller makes the node look again
    void obey(std::function<bool()> of) { ready = std::move(of); } // no character begins while it returns false
    void wire(std::function<void(uint64_t, std::string)> to) override { wire_to = std::move(to); }

    void before_edge(uint64_t cycle) override;
    void after_edge(uint64_t cycle, unsigned pins) override;
    uint64_t next() const override { return std::min(in.next, out.wants()); }
    bool drains() const override { return true; }
    bool idle() const override { return out.idle(); }
    uint64_t bits(uint64_t count) const override { return out.rate().bits(count); }
    void arrive(const std::string &content, uint64_t cycle) override;
    Sends sends() const override { return {out.next_byte(0), out.next_byte(0), out.between_bytes()}; }
    void record(Json &json) const override;
    const char *record_group() const override { return "serial"; }
    const std::string &pty_name() const { return terminal.pty_name; }
    uint64_t framing_errors() const { return out.framing_errors; }
    uint64_t baud() const { return out.rate().baud; }
    bool listens() const override { return terminal.listens(); }
    void flush() override { file.flush(); }
    void finish() override;

  protected:
    virtual void byte(uint8_t byte) = 0;
    virtual void record_more(Json &) const {}
    void set_baud(uint64_t baud);
    void look_again();

    LineDriver in;
    LineReceiver out;

    // Not saved: this run's own. The file's content is saved, as what it held before.
    Terminal terminal; // the user or program at the far end
    OutFile file; // what came from the target

  private:
    bool &life;

    // Not saved: they follow from the port and its connections.
    Pin transmit;
    std::function<void(bool)> drive;
    std::function<bool()> ready;
    std::function<void(uint64_t, std::string)> wire_to;
};

// Keeps the target's output, for its results. It may wait for a text and then type another.
class Console final : public SerialPort {
  public:
    // `heard` is called when the last of the expected texts has been printed and nothing is left to type.
    Console(const Arguments &a, std::function<void(bool)> drive, BitRate rate, bool &life, std::function<void()> heard);

    const std::string &text() const { return printed; }
    const std::string *missing() const { return said < expected.size() ? &expected[said] : nullptr; } // not printed yet

    uint64_t poll_cycles() const override;
    void poll(uint64_t cycle) override;
    void after_edge(uint64_t cycle, unsigned pins) override;
    void save(cereal::BinaryOutputArchive &archive) const override;
    void load(cereal::BinaryInputArchive &archive) override;
    void open(const std::string &folder, bool keep) override;
    void write_again() override { file.write(printed); }
    void digest(Mix &mix) const override { mix.add(printed.data(), printed.size()); }

  private:
    void byte(uint8_t byte) override;

    void listen();

    // Not saved: this run's.
    Arguments::Console kind;
    bool types_end; // ^D after the end of the input
    std::vector<std::string> expected, typed;
    size_t said = 0, from = 0; // so many of `expected` were printed, the last before this place of `printed`
    bool begun = false;
    uint64_t now = 0;
    std::function<void()> heard;

    std::string printed;
};

class DataLine final : public SerialPort {
  public:
    // `path`: where to write the output; empty: into the run's folder.
    DataLine(bool pty, const std::string &path, std::function<void(bool)> drive, BitRate rate, bool &life,
             const std::vector<uint8_t> &feed, uint64_t feed_start);

    Player player; // not saved here: a device of its own

    uint64_t poll_cycles() const override;
    void poll(uint64_t cycle) override;
    void save(cereal::BinaryOutputArchive &archive) const override;
    void load(cereal::BinaryInputArchive &archive) override;
    void open(const std::string &folder, bool keep) override;
    void write_again() override { file.write(before); }
    void forget() override { file.forget(); }
    void digest(Mix &of) const override { of.add(mix.value); }

  private:
    void byte(uint8_t byte) override;
    void record_more(Json &json) const override;

    std::string path; // not saved: this run's
    std::string before; // not saved: what the file held at the checkpoint that was restored
    Mix mix;
};
