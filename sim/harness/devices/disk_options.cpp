#include "devices/disk_options.h"

#include <algorithm>
#include <filesystem>

#include "support/failure.h"
#include "support/number.h"

DiskOptions DiskOptions::parse(const std::string &text)
{
    DiskOptions o;
    std::vector<std::string> parts;
    for (size_t at = 0; at <= text.size();) {
        size_t end = std::min(text.find(',', at), text.size());
        parts.push_back(text.substr(at, end - at));
        at = end + 1;
    }
    // A path may hold commas: the longest that is a file is the image. support/parameters/drive.py does the same.
    size_t image = parts.size();
    std::error_code none;
    for (o.image = text; image > 1 && !std::filesystem::is_regular_file(o.image, none); image--)
        o.image.resize(o.image.size() - parts[image - 1].size() - 1);
    if (o.image.empty())
        throw Failure(format("--disk: '%s' begins with no image: give IMAGE[,NAME=VALUE...]", text.c_str()));
    parts.erase(parts.begin(), parts.begin() + long(image));
    // The profile first: the other options change it.
    std::stable_partition(parts.begin(), parts.end(), [](const std::string &p) { return !p.rfind("profile=", 0); });
    o.profile = disk_profiles.at(o.profile_name);
    for (const std::string &part : parts) {
        size_t equals = part.find('=');
        std::string name = part.substr(0, equals), value = equals < part.size() ? part.substr(equals + 1) : "";
        std::string option = "--disk " + name;
        auto field = std::find_if(disk_fields.begin(), disk_fields.end(),
                                  [&name](const DiskField &f) { return name == f.name; });
        if (name == "profile") {
            auto found = disk_profiles.find(value);
            std::string names;
            for (const auto &profile : disk_profiles)
                names += (names.empty() ? "" : ", ") + profile.first;
            if (found == disk_profiles.end())
                throw Failure(format("--disk: there is no profile '%s' (valid: %s)", value.c_str(), names.c_str()));
            o.profile_name = value;
            o.profile = found->second;
        } else if (field != disk_fields.end()) {
            uint64_t number = whole_number(option, value, field->most);
            if (number < field->least)
                throw Failure(format("--disk: %s is at least %llu", field->name, (unsigned long long)field->least));
            o.profile.*field->member = number;
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
            for (const DiskField &f : disk_fields)
                names += std::string(", ") + f.name;
            throw Failure(format("--disk: there is no '%s' (valid: %s)", part.c_str(), names.c_str()));
        }
    }
    std::sort(o.left.begin(), o.left.end());
    return o;
}
