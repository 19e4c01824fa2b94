// The drive at a disk controller: --disk IMAGE[,NAME=VALUE...], and how slow drives are.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "generated/drives.h"

struct DiskOptions {
    enum class Keep { NO, COPY, IN_PLACE }; // where writes go: nowhere, DIR/diskN.img, the image
    struct Bad {
        uint64_t sector, times; // so many reads of it fail; UINT64_MAX: until it is written
    };

    std::string image, profile_name = default_profile;
    DiskProfile profile{};
    Keep keep = Keep::NO;
    std::vector<Bad> bad;
    std::vector<uint64_t> silent; // numbers of commands, from 0, that are never answered
    uint64_t cut = UINT64_MAX; // the cycle in which it loses power
    std::vector<uint64_t> left; // cycles, in order: what a power cut would leave then is copied

    static DiskOptions parse(const std::string &text); // throws Failure
};
