// A network in user mode behind the Ethernet wire, without root (libslirp, as QEMU's): 10.0.0.0/24 with a router,
// 10.0.0.1, that answers echoes itself and passes UDP and TCP on as this host's own. The target's address has to be
// 10.0.0.2, as it is by default.
#pragma once
#include <deque>
#include <string>

struct Slirp;

class UserNet {
  public:
    UserNet(); // throws Failure
    ~UserNet();
    UserNet(const UserNet &) = delete;
    UserNet &operator=(const UserNet &) = delete;

    void send(const std::string &frame); // of the target, without FCS
    bool receive(std::string &frame); // the next frame for it, unchanged; false: none now

  private:
    Slirp *slirp;
    std::deque<std::string> frames;
};
