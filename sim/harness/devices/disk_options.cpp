#include "devices/disk_options.h"

#include <algorithm>

#include "support/failure.h"
#include "support/number.h"

const std::vector<DiskProfile::Field> DiskProfile::fields = {
    {"rpm", &DiskProfile::rpm},
    {"sectors_per_track", &DiskProfile::sectors_per_track},
    {"heads", &DiskProfile::heads},
    {"cylinders", &DiskProfile::cylinders},
    {"seek_near_us", &DiskProfile::seek_near_us},
    {"seek_far_us", &DiskProfile::seek_far_us},
    {"overhead_us", &DiskProfile::overhead_us},
    {"result_us", &DiskProfile::result_us},
    {"bus_kb_s", &DiskProfile::bus_kb_s},
    {"burst", &DiskProfile::burst},
    {"cache_kb", &DiskProfile::cache_kb},
    {"read_ahead", &DiskProfile::read_ahead},
    {"queue", &DiskProfile::queue},
};

// What the papers say of their drives is how long their tests took (`sync`, Table 7) and an average access (`mach`); the
// rest is what drives of those years had, chosen so that it comes to that (README.md of hw/disk, "Profiles").
const std::map<std::string, DiskProfile> disk_profiles = {
    // rpm, sectors/track, heads, cylinders, seek near, far, overhead, result, bus, burst, cache, read ahead, queue
    {"ide", {4500, 68, 16, 1000, 3000, 20000, 300, 0, 16600, 16, 32, 1, 1}},
    {"scsi", {5400, 74, 8, 2000, 1500, 18000, 700, 0, 10000, 16, 0, 0, 8}},
    {"cdrom", {2000, 36, 1, 9000, 20000, 350000, 500, 0, 5000, 4, 0, 1, 1}},
    {"floppy", {300, 18, 2, 80, 18000, 240000, 1000, 200, 250, 4, 0, 0, 1}},
    {"sabre", {6000, 64, 15, 1900, 600, 5600, 100, 0, 3000, 16, 0, 0, 8}},
    {"fast", {0, 64, 1, 1, 0, 0, 5, 0, 480000, 128, 0, 0, 16}},
};

DiskOptions DiskOptions::parse(const std::string &text)
{
    DiskOptions o;
    std::vector<std::string> parts;
    for (size_t at = 0; at <= text.size();) {
        size_t end = std::min(text.find(',', at), text.size());
        parts.push_back(text.substr(at, end - at));
        at = end + 1;
    }
    o.image = parts.at(0);
    if (o.image.empty())
        throw Failure(format("--disk: '%s' begins with no image: give IMAGE[,NAME=VALUE...]", text.c_str()));
    parts.erase(parts.begin());
    // The profile first: what else is said changes it.
    std::stable_partition(parts.begin(), parts.end(), [](const std::string &p) { return !p.rfind("profile=", 0); });
    o.profile = disk_profiles.at(o.profile_name);
    for (const std::string &part : parts) {
        size_t equals = part.find('=');
        std::string name = part.substr(0, equals), value = equals < part.size() ? part.substr(equals + 1) : "";
        std::string option = "--disk " + name;
        auto field = std::find_if(DiskProfile::fields.begin(), DiskProfile::fields.end(),
                                  [&name](const DiskProfile::Field &f) { return name == f.first; });
        if (name == "profile") {
            auto found = disk_profiles.find(value);
            std::string names;
            for (const auto &profile : disk_profiles)
                names += (names.empty() ? "" : ", ") + profile.first;
            if (found == disk_profiles.end())
                throw Failure(format("--disk: there is no profile '%s' (valid: %s)", value.c_str(), names.c_str()));
            o.profile_name = value;
            o.profile = found->second;
        } else if (field != DiskProfile::fields.end()) {
            o.profile.*field->second = whole_number(option, value, 1'000'000'000);
        } else if (name == "write") {
            if (value != "no" && value != "copy" && value != "inplace")
                throw Failure(format("--disk: write=%s is not one of no, copy, inplace", value.c_str()));
            o.keep = value == "copy" ? Keep::COPY : value == "inplace" ? Keep::IN_PLACE : Keep::NO;
        } else if (name == "bad") {
            size_t colon = value.find(':');
            o.bad.push_back({whole_number(option, value.substr(0, colon)),
                             colon == std::string::npos ? UINT64_MAX : whole_number(option, value.substr(colon + 1))});
            if (!o.bad.back().times)
                throw Failure(format("--disk: bad=%s: a sector that is bad 0 times is none", value.c_str()));
        } else if (name == "silent") {
            o.silent.push_back(whole_number(option, value));
        } else if (name == "cut") {
            o.cut = whole_number(option, value);
        } else if (name == "left") {
            o.left.push_back(whole_number(option, value));
        } else {
            std::string names = "profile, write, bad, silent, cut, left";
            for (const DiskProfile::Field &f : DiskProfile::fields)
                names += std::string(", ") + f.first;
            throw Failure(format("--disk: there is no '%s' (valid: %s)", part.c_str(), names.c_str()));
        }
    }
    std::sort(o.left.begin(), o.left.end());
    for (uint64_t DiskProfile::*least : {&DiskProfile::sectors_per_track, &DiskProfile::heads, &DiskProfile::cylinders,
                                         &DiskProfile::bus_kb_s, &DiskProfile::burst, &DiskProfile::queue})
        for (const DiskProfile::Field &f : DiskProfile::fields)
            if (f.second == least && !(o.profile.*least))
                throw Failure(format("--disk: %s is at least 1", f.first));
    if (o.profile.burst > 1023)
        throw Failure("--disk: burst is at most 1023 sectors");
    return o;
}
