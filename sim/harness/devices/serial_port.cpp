#include "devices/serial_port.h"

#include <cereal/archives/binary.hpp>
#include <cereal/types/string.hpp>

#include "support/json.h"

namespace {

constexpr uint64_t POLL_CYCLES = 16384;    // between polls for typed input,
constexpr char END_OF_TRANSMISSION = 4;    // ^D
constexpr uint64_t PTY_POLL_CYCLES = 1024; // and of a pseudo-terminal: a program waits for each answer

} // namespace

SerialPort::SerialPort(std::string name, Pin transmit, Arguments::Console far_end, std::function<void(bool)> drive,
                       BitRate rate, bool &life)
    : Device(std::move(name)), in(rate), out(rate), terminal(far_end), life(life), transmit(transmit),
      drive(std::move(drive))
{
    look_again();
}

void SerialPort::look_again()
{
    wants.before = in.next;
    wants.after = out.next_sample();
    wants.pins = out.idle() ? transmit : 0;
}

void SerialPort::send(const void *data, size_t length, uint64_t cycle)
{
    in.send(data, length, cycle);
    look_again();
}

void SerialPort::before_edge(uint64_t cycle)
{
    const bool held = ready && cycle >= in.next && in.begins() && !ready();
    if (held)
        in.hold(cycle);
    while (cycle >= in.next)
        in.advance(cycle);
    drive(in.level);
    life |= !held;
    look_again();
}

void SerialPort::after_edge(uint64_t cycle, unsigned pins)
{
    bool level = !(pins & transmit);
    if (out.due(level, cycle) && out.advance(level, cycle)) {
        life = true;
        byte(out.byte);
        if (wire_to)
            wire_to(cycle, std::string(1, char(out.byte)));
    }
    look_again();
}

void SerialPort::arrive(const std::string &content, uint64_t cycle)
{
    send(content.data(), content.size(), cycle);
}

void SerialPort::set_baud(uint64_t baud)
{
    in.set_baud(baud);
    out.set_baud(baud);
}

void SerialPort::finish()
{
    terminal.flush();
    file.close();
}

void SerialPort::record(Json &json) const
{
    json.object(name.c_str()).number("bytes_to_target", in.sent).number("bytes_from_target", out.received);
    json.number("framing_errors", out.framing_errors);
    record_more(json);
    json.end_object();
}

Console::Console(const Arguments &a, std::function<void(bool)> drive, BitRate rate, bool &life,
                 std::function<void()> heard)
    : SerialPort("uart0", UART0_TX, a.console, std::move(drive), rate, life), kind(a.console), types_end(a.uart0_flow),
      expected(a.expected), typed(a.typed), heard(std::move(heard))
{
    terminal.set_baud(rate.baud);
}

void Console::open(const std::string &folder, bool)
{
    if (!folder.empty() && kind != Arguments::Console::NONE)
        file.open(folder + "/console.txt");
}

void Console::byte(uint8_t byte)
{
    printed += char(byte);
    file.write(&byte, 1);
    terminal.write(byte);
    if (said < expected.size())
        listen();
}

void Console::after_edge(uint64_t cycle, unsigned pins)
{
    now = cycle;
    SerialPort::after_edge(cycle, pins);
}

// A character has come: is it the last of the expected text?
void Console::listen()
{
    const std::string &wanted = expected[said];
    if (printed.size() - from < wanted.size() ||
        printed.compare(printed.size() - wanted.size(), wanted.size(), wanted) != 0)
        return;
    from = printed.size();
    if (said < typed.size())
        send(typed[said].data(), typed[said].size(), now + 1);
    if (++said == expected.size() && typed.size() < expected.size())
        heard();
}

uint64_t Console::poll_cycles() const
{
    if (!begun && expected.empty() && !typed.empty())
        return POLL_CYCLES;
    return kind == Arguments::Console::PTY ? PTY_POLL_CYCLES : kind == Arguments::Console::TTY ? POLL_CYCLES : 0;
}

// The far end's bit rate is the line's; a new one takes effect after the last character at the old one.
void Console::poll(uint64_t cycle)
{
    terminal.flush();
    uint64_t baud = terminal.baud();
    if (baud && baud <= out.rate().clock_hz / 4 && baud != out.rate().baud) {
        if (!in.idle() || !out.idle())
            return;
        set_baud(baud);
    }
    std::string come = terminal.read();
    if (!begun && expected.empty())
        for (const std::string &text : typed)
            come += text;
    begun = true;
    if (terminal.ended() && types_end) {
        come += END_OF_TRANSMISSION;
        types_end = false;
    }
    send(come.data(), come.size(), cycle);
}

void Console::save(cereal::BinaryOutputArchive &archive) const
{
    archive(in, out, printed);
}

void Console::load(cereal::BinaryInputArchive &archive)
{
    archive(in, out, printed);
    terminal.set_baud(out.rate().baud);
    look_again();
}

DataLine::DataLine(bool pty, const std::string &path, std::function<void(bool)> drive, BitRate rate, bool &life,
                   const std::vector<uint8_t> &feed, uint64_t feed_start)
    : SerialPort("uart1", UART1_TX, pty ? Arguments::Console::PTY : Arguments::Console::NONE, std::move(drive), rate,
                 life),
      player(*this, feed, feed_start), path(path)
{
}

void DataLine::open(const std::string &folder, bool keep)
{
    std::string name = path.empty() && !folder.empty() ? folder + "/uart1.out" : path;
    if (!name.empty())
        file.open(name);
    if (keep)
        file.keep();
}

void DataLine::byte(uint8_t byte)
{
    mix.add(byte);
    file.write(&byte, 1);
    terminal.write(byte);
}

uint64_t DataLine::poll_cycles() const
{
    return terminal.pty_name.empty() ? 0 : PTY_POLL_CYCLES;
}

void DataLine::poll(uint64_t cycle)
{
    terminal.flush();
    std::string typed = terminal.read();
    send(typed.data(), typed.size(), cycle);
}

void DataLine::save(cereal::BinaryOutputArchive &archive) const
{
    archive(in, out, mix, file.kept());
}

void DataLine::load(cereal::BinaryInputArchive &archive)
{
    archive(in, out, mix, before);
    look_again();
}

void DataLine::record_more(Json &json) const
{
    auto moment = [&json](const char *key, uint64_t cycle) {
        cycle == NEVER ? json.null(key) : json.number(key, cycle);
    };
    moment("feed_began", player.began());
    moment("feed_ended", player.began() == NEVER ? NEVER : in.finished);
}
