// What stands at a disk controller: --disk IMAGE[,NAME=VALUE...], and how slow drives are.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

// How a drive takes its time. The head is over one place at a time, at a cycle that follows from the rotation alone; from
// one cylinder to another `d` away it goes in `seek_near_us` + (`seek_far_us` - `seek_near_us`) * sqrt(d / cylinders).
struct DiskProfile {
    uint64_t rpm; // 0: no mechanism, nothing to wait for but the overhead and the bus
    uint64_t sectors_per_track;
    uint64_t heads; // tracks of a cylinder
    uint64_t cylinders; // which a seek's length is a part of; the image may have more or less
    uint64_t seek_near_us, seek_far_us;
    uint64_t overhead_us; // of each command
    uint64_t result_us; // from the last data to the answer
    uint64_t bus_kb_s; // between the drive's buffer and the controller, 1,000 bytes a second
    uint64_t burst; // sectors that the drive moves at once, by DMA
    uint64_t cache_kb; // data of writes that end before they are on the medium; 0: none does
    uint64_t read_ahead; // 1: goes on reading behind a request, into its buffer
    uint64_t queue; // requests among which it takes the one that is reached first

    using Field = std::pair<const char *, uint64_t DiskProfile::*>;
    static const std::vector<Field> fields;
};
extern const std::map<std::string, DiskProfile> disk_profiles;

struct DiskOptions {
    enum class Keep { NO, COPY, IN_PLACE }; // what was written: nowhere, to DIR/diskN.img, to the image
    struct Bad {
        uint64_t sector, times; // cannot be read so often; UINT64_MAX: until it is written
    };

    std::string image, profile_name = "fast";
    DiskProfile profile{};
    Keep keep = Keep::NO;
    std::vector<Bad> bad;
    std::vector<uint64_t> silent; // numbers of commands, from 0, that are never answered
    uint64_t cut = UINT64_MAX; // the cycle in which its power goes
    std::vector<uint64_t> left; // cycles, in order: what a cut there would leave is copied

    static DiskOptions parse(const std::string &text); // throws Failure
};
