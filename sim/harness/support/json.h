// Writes JSON, two spaces per level. The caller balances begin and end.
#pragma once
#include <cstdint>
#include <string>

class Json {
  public:
    std::string text;

    Json &object(const char *key = nullptr) { return begin(key, '{'); }
    Json &array(const char *key = nullptr) { return begin(key, '['); }
    Json &end_object() { return end('}'); }
    Json &end_array() { return end(']'); }

    Json &number(const char *key, uint64_t value) { return raw(key, std::to_string(value)); }
    Json &real(const char *key, double value);
    Json &boolean(const char *key, bool value) { return raw(key, value ? "true" : "false"); }
    Json &null(const char *key) { return raw(key, "null"); }
    Json &string(const char *key, const std::string &value) { return raw(key, quote(value)); }
    Json &raw(const char *key, const std::string &value);

    // Members that another one has written at this depth.
    Json &members(const std::string &written)
    {
        text += written;
        first = false;
        return *this;
    }

    static std::string quote(const std::string &value); // bytes that are not UTF-8 become U+FFFD

  private:
    Json &begin(const char *key, char open);
    Json &end(char close);
    void next(const char *key);

    int depth = 0;
    bool first = true;
};
