#include "devices/user_net.h"

#include <arpa/inet.h>
#include <poll.h>
#include <slirp/libslirp.h>

#include <chrono>
#include <vector>

#include "support/failure.h"

namespace {

in_addr address(uint32_t value)
{
    in_addr made{};
    made.s_addr = htonl(value);
    return made;
}

constexpr uint32_t NETWORK = 0x0a000000; // 10.0.0.0/24

ssize_t to_target(const void *frame, size_t bytes, void *frames)
{
    static_cast<std::deque<std::string> *>(frames)->emplace_back(static_cast<const char *>(frame), bytes);
    return ssize_t(bytes);
}

int64_t now_ns(void *)
{
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

// Timers are for IPv6's advertisements, which are off; the descriptors to poll are queried each time.
const SlirpCb CALLS = {
    .send_packet = to_target,
    .guest_error = [](const char *, void *) {},
    .clock_get_ns = now_ns,
    .timer_new = [](SlirpTimerCb, void *, void *) -> void * { return nullptr; },
    .timer_free = [](void *, void *) {},
    .timer_mod = [](void *, int64_t, void *) {},
    .register_poll_fd = [](int, void *) {},
    .unregister_poll_fd = [](int, void *) {},
    .notify = [](void *) {},
    .init_completed = nullptr,
    .timer_new_opaque = nullptr,
};

int add(int fd, int events, void *all)
{
    auto &polled = *static_cast<std::vector<pollfd> *>(all);
    short wanted = 0;
    if (events & SLIRP_POLL_IN)
        wanted |= POLLIN;
    if (events & SLIRP_POLL_OUT)
        wanted |= POLLOUT;
    if (events & SLIRP_POLL_PRI)
        wanted |= POLLPRI;
    polled.push_back({fd, wanted, 0});
    return int(polled.size()) - 1;
}

int found(int index, void *all)
{
    const short events = (*static_cast<std::vector<pollfd> *>(all))[size_t(index)].revents;
    return (events & POLLIN ? SLIRP_POLL_IN : 0) | (events & POLLOUT ? SLIRP_POLL_OUT : 0) |
           (events & POLLPRI ? SLIRP_POLL_PRI : 0) | (events & POLLERR ? SLIRP_POLL_ERR : 0) |
           (events & POLLHUP ? SLIRP_POLL_HUP : 0);
}

} // namespace

UserNet::UserNet()
{
    SlirpConfig config{};
    config.version = SLIRP_CONFIG_VERSION_MIN;
    config.in_enabled = true;
    config.vnetwork = address(NETWORK);
    config.vnetmask = address(0xffffff00);
    config.vhost = address(NETWORK + 1);
    config.vnameserver = address(NETWORK + 3);
    config.vdhcp_start = address(NETWORK + 15);
    slirp = slirp_new(&config, &CALLS, &frames);
    if (!slirp)
        throw Failure("--ether user: libslirp cannot begin");
}

UserNet::~UserNet()
{
    slirp_cleanup(slirp);
}

void UserNet::send(const std::string &frame)
{
    slirp_input(slirp, reinterpret_cast<const uint8_t *>(frame.data()), int(frame.size()));
}

bool UserNet::receive(std::string &frame)
{
    if (frames.empty()) {
        std::vector<pollfd> polled;
        uint32_t patience = 0;
        slirp_pollfds_fill(slirp, &patience, add, &polled);
        const int error = ::poll(polled.data(), polled.size(), 0) < 0;
        slirp_pollfds_poll(slirp, error, found, &polled);
    }
    if (frames.empty())
        return false;
    frame = std::move(frames.front());
    frames.pop_front();
    return true;
}
