#include "run/ranks.h"

#include <dlfcn.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>

#include "run/ranks_library.h"
#include "support/failure.h"

namespace {

class One : public Ranks {
  public:
    std::vector<std::string> all(const std::string &mine) override { return {mine}; }
};

// Processes that are joined to the first one by sockets: it gathers what all say, and tells all of them.
class Forked : public Ranks {
  public:
    explicit Forked(unsigned processes)
    {
        count = processes;
        std::fflush(nullptr);
        for (unsigned rank = 1; rank < count; rank++) {
            int ends[2];
            if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
                throw Failure(format("--ranks: a socket: %s", std::strerror(errno)));
            const pid_t first = getpid(), child = fork();
            if (child < 0)
                throw Failure(format("--ranks: a process: %s", std::strerror(errno)));
            close(ends[child ? 1 : 0]);
            if (!child) {
                prctl(PR_SET_PDEATHSIG, SIGKILL);
                if (getppid() != first)
                    _exit(2); // it has ended already
                for (int socket : sockets)
                    close(socket);
                self = rank;
                children.clear();
                sockets = {ends[1]};
                return;
            }
            sockets.push_back(ends[0]);
            children.push_back(child);
        }
    }

    ~Forked() override
    {
        for (int socket : sockets)
            close(socket);
        for (pid_t child : children)
            waitpid(child, nullptr, 0);
    }

    std::vector<std::string> all(const std::string &mine) override
    {
        std::vector<std::string> said;
        if (self) {
            send(sockets[0], mine);
            for (unsigned rank = 0; rank < count; rank++)
                said.push_back(receive(sockets[0]));
            return said;
        }
        said.push_back(mine);
        for (int socket : sockets)
            said.push_back(receive(socket));
        for (int socket : sockets)
            for (const std::string &text : said)
                send(socket, text);
        return said;
    }

  private:
    [[noreturn]] static void ended() { throw Failure("--ranks: another process of the run has ended"); }

    static void put(int socket, const void *bytes, size_t size)
    {
        for (const char *at = static_cast<const char *>(bytes); size;) {
            ssize_t n = ::send(socket, at, size, MSG_NOSIGNAL);
            if (n < 0 && errno == EINTR)
                continue;
            if (n <= 0)
                ended();
            at += n;
            size -= size_t(n);
        }
    }

    static void get(int socket, void *bytes, size_t size)
    {
        for (char *at = static_cast<char *>(bytes); size;) {
            ssize_t n = recv(socket, at, size, 0);
            if (n < 0 && errno == EINTR)
                continue;
            if (n <= 0)
                ended();
            at += n;
            size -= size_t(n);
        }
    }

    static void send(int socket, const std::string &text)
    {
        uint64_t size = text.size();
        put(socket, &size, sizeof size);
        put(socket, text.data(), text.size());
    }

    static std::string receive(int socket)
    {
        uint64_t size;
        get(socket, &size, sizeof size);
        std::string text(size, 0);
        get(socket, text.data(), size);
        return text;
    }

    std::vector<int> sockets; // the first process's: to each other one; another's: to that
    std::vector<pid_t> children;
};

// Processes that a library joins.
class Launched : public Ranks {
  public:
    explicit Launched(const std::string &path)
    {
        void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
        if (!library)
            throw Failure(format("--ranks-library: %s", dlerror()));
        begin = find<decltype(begin)>(library, "ranks_begin");
        exchange = find<decltype(exchange)>(library, "ranks_exchange");
        end = find<decltype(end)>(library, "ranks_end");
        if (begin(&self, &count))
            throw Failure("--ranks-library: it cannot begin");
    }

    ~Launched() override { end(!together); }

    std::vector<std::string> all(const std::string &mine) override
    {
        std::vector<uint64_t> sizes(count);
        const char *bytes = exchange(mine.data(), mine.size(), sizes.data());
        if (!bytes)
            throw Failure("--ranks-library: another process of the run has ended");
        std::vector<std::string> said;
        for (uint64_t size : sizes) {
            said.emplace_back(bytes, size);
            bytes += size;
        }
        return said;
    }

  private:
    template <class Function> static Function find(void *library, const char *name)
    {
        void *found = dlsym(library, name);
        if (!found)
            throw Failure(format("--ranks-library: it has no function %s", name));
        return reinterpret_cast<Function>(found);
    }

    decltype(&ranks_begin) begin;
    decltype(&ranks_exchange) exchange;
    decltype(&ranks_end) end;
};

} // namespace

std::unique_ptr<Ranks> Ranks::make(unsigned count, const std::string &library, unsigned nodes)
{
    std::unique_ptr<Ranks> made;
    if (!library.empty())
        made = std::make_unique<Launched>(library);
    if (made ? made->count > nodes : count > nodes)
        throw Failure(
            format("--ranks: %u processes for %u nodes: give at most one for each", made ? made->count : count, nodes));
    if (!made && count > 1)
        made = std::make_unique<Forked>(count);
    return made ? std::move(made) : std::make_unique<One>();
}
