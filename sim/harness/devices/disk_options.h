// The drive at a disk controller: --disk IMAGE[,NAME=VALUE...], and how slow drives are.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "generated/drives.h"

struct DiskOptions {
    enum class Keep { NO, COPY, IN_PLACE }; // what was written: nowhere, to DIR/diskN.img, to the image
    struct Bad {
        uint64_t sector, times; // cannot be read so often; UINT64_MAX: until it is written
    };

    std::string image, profile_name = default_profile;
    DiskProfile profile{};
    Keep keep = Keep::NO;
    std::vector<Bad> bad;
    std::vector<uint64_t> silent; // numbers of commands, from 0, that are never answered
    uint64_t cut = UINT64_MAX; // the cycle in which its power goes
    std::vector<uint64_t> left; // cycles, in order: what a cut there would leave is copied

    static DiskOptions parse(const std::string &text); // throws Failure
};
