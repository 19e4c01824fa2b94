// Input and output files. Every write is checked: a full disk ends the run with one line; what was written stays.
#pragma once
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

std::vector<uint8_t> read_file(const std::string &path, const char *what); // `what` names the file in the error

void make_directory(const std::string &path); // with its parents
// Throws Failure if `path`, a file to be written later, has no directory in which files can be created.
void check_directory_of(const std::string &path, const char *what);

class OutFile {
  public:
    OutFile() = default;
    OutFile(const OutFile &) = delete;
    OutFile &operator=(const OutFile &) = delete;
    ~OutFile();

    void open(const std::string &path, bool append = false);
    void keep() { keeping = true; } // also keeps in memory what is written from now on, for a checkpoint
    void forget();                  // ends that
    const std::string &kept() const { return content; }
    bool wanted() const { return file || keeping; } // else a write does nothing
    void write(const void *data, size_t length);
    void write(const std::string &text) { write(text.data(), text.size()); }
    void flush();
    void close(); // after a failed write it only closes: the failure was reported

  private:
    [[noreturn]] void fail();

    std::FILE *file = nullptr;
    std::string path;
    bool keeping = false;
    std::string content;
};
