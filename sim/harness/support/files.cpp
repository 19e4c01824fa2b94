#include "support/files.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "support/failure.h"
#include "support/watchdog.h"

constexpr size_t MOST_OF_A_STREAM = 256 << 20;

std::vector<uint8_t> read_file(const std::string &path, const char *what)
{
    std::error_code error;
    if (std::filesystem::is_directory(path, error))
        throw Failure(format("cannot read the %s %s: it is a directory", what, path.c_str()));
    std::FILE *file = std::fopen(path.c_str(), "rb");
    if (!file)
        throw Failure(format("cannot read the %s %s: %s", what, path.c_str(), std::strerror(errno)));
    // A pipe or a device may have no end.
    const size_t most = std::filesystem::is_regular_file(path, error) ? SIZE_MAX : MOST_OF_A_STREAM;
    std::vector<uint8_t> bytes;
    uint8_t part[65536];
    size_t got;
    while (bytes.size() <= most && (got = std::fread(part, 1, sizeof part, file)) > 0)
        bytes.insert(bytes.end(), part, part + got);
    if (bytes.size() > most) {
        std::fclose(file);
        throw Failure(format("cannot read the %s %s: it is no ordinary file, and has more than %zu MiB", what,
                             path.c_str(), most >> 20));
    }
    bool bad = std::ferror(file);
    std::fclose(file);
    if (bad)
        throw Failure(format("cannot read the %s %s: %s", what, path.c_str(), std::strerror(errno)));
    return bytes;
}

void make_directory(const std::string &path)
{
    std::error_code error;
    std::filesystem::create_directories(path, error);
    if (error || !std::filesystem::is_directory(path, error))
        throw Failure(format("cannot make the directory %s: %s", path.c_str(),
                             error ? error.message().c_str() : "a file is in the way"));
}

void check_directory_of(const std::string &path, const char *what)
{
    std::string directory = std::filesystem::path(path).parent_path().string();
    if (access(directory.empty() ? "." : directory.c_str(), W_OK))
        throw Failure(format("cannot write the %s %s: %s", what, path.c_str(), std::strerror(errno)));
}

OutFile::~OutFile()
{
    if (file)
        std::fclose(file);
}

void OutFile::fail()
{
    int reason = errno;
    std::fclose(file);
    file = nullptr;
    throw Failure(format("cannot write %s: %s", path.c_str(), std::strerror(reason)));
}

void OutFile::open(const std::string &name, bool append)
{
    path = name;
    file = std::fopen(path.c_str(), append ? "ab" : "wb");
    if (!file)
        throw Failure(format("cannot write %s: %s", path.c_str(), std::strerror(errno)));
}

void OutFile::forget()
{
    keeping = false;
    content = {};
}

void OutFile::write(const void *data, size_t length)
{
    if (keeping)
        content.append(static_cast<const char *>(data), length);
    Doing doing("writing a file");
    if (file && std::fwrite(data, 1, length, file) != length)
        fail();
}

void OutFile::flush()
{
    Doing doing("writing a file");
    if (file && std::fflush(file) != 0)
        fail();
}

void OutFile::close()
{
    if (!file)
        return;
    flush();
    std::FILE *closing = file;
    file = nullptr;
    if (std::fclose(closing) != 0)
        throw Failure(format("cannot write %s: %s", path.c_str(), std::strerror(errno)));
}
