#include "devices/player.h"

#include <cereal/archives/binary.hpp>

#include "devices/serial_port.h"

Player::Player(SerialPort &line, const std::vector<uint8_t> &bytes, uint64_t start)
    : Device("player"), line(line), bytes(bytes), start(start)
{
    wants.before = start;
}

void Player::go(uint64_t cycle)
{
    due = true;
    if (began_at != NEVER || bytes.empty())
        return;
    began_at = cycle;
    line.send(bytes.data(), bytes.size(), cycle);
}

void Player::before_edge(uint64_t cycle)
{
    wants.before = NEVER;
    if (cycle == start) // else a restored run's moment, given again, is past
        go(cycle);
}

void Player::save(cereal::BinaryOutputArchive &archive) const
{
    archive(began_at, due);
}

void Player::load(cereal::BinaryInputArchive &archive)
{
    archive(began_at, due);
    wants.before = due ? NEVER : start; // the moment may have been given again
}
