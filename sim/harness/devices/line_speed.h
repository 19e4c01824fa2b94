// Any bit rate of a terminal device; <termios.h> knows the usual ones only.
#pragma once
#include <cstdint>

uint64_t line_speed(int descriptor); // bit/s; 0 if it has none
void set_line_speed(int descriptor, uint64_t baud);
