// SPDX-License-Identifier: Apache-2.0
//
// A rank that begins to send and ends at once, seen by one that did not look meanwhile.
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "runtime/transport/transport.h"

namespace casync::test {
namespace {

using namespace casync::runtime;  // NOLINT: every name here is from there

struct Nobody final : TransportClient {
  Placement place(Rank, const Message&) override { return Placement::later(); }
  void received(Rank, const Message&, Status) override {}
  void sent(std::uint64_t, Status) override {}
  void failed(Rank, Status) override {}
};

Result<std::unique_ptr<Transport>> opened(const std::string& name, Rank rank) {
  return make_transport(name, {.rank = rank, .ranks = 2, .epoch = 0x7a12, .interface_name = "lo"});
}

/// Gives one's own address to the other process, and returns the other's.
std::string exchanged(const std::string& own, int out, int in) {
  const std::size_t size = own.size();
  std::size_t others = 0;
  if (write(out, &size, sizeof size) != sizeof size || write(out, own.data(), size) != static_cast<ssize_t>(size))
    return {};
  if (read(in, &others, sizeof others) != sizeof others) return {};
  std::string text(others, '\0');
  return read(in, text.data(), others) == static_cast<ssize_t>(others) ? text : std::string();
}

void progress_for(Transport& transport, Seconds time) {
  for (const Clock::time_point end = after(time); Clock::now() < end;) transport.progress();
}

/// Rank 1: sends, and ends without a word.
int send_and_end(const std::string& name, int out, int in) {
  auto transport = opened(name, 1);
  if (!transport) return 1;
  Nobody client;
  const std::vector<std::string> addresses = {exchanged((*transport)->address(), out, in), ""};
  if (!(*transport)->connect(addresses, client)) return 2;
  const std::vector<std::byte> payload(100);
  Outgoing message;
  message.message.payload_bytes = payload.size();
  message.payload = {payload.data(), payload.size()};
  (*transport)->send(0, {&message, 1});
  progress_for(**transport, Seconds(0.1));
  _exit(0);
}

}  // namespace

TEST_CASE("ucx: a rank whose first word is read when it is gone already ends nobody's process") {
  for (const char* name : {"ucx:shm", "ucx", "ucx:tcp"}) {
    INFO(name);
    std::array<int, 2> up{}, down{}, gone{};
    REQUIRE(pipe(up.data()) == 0);
    REQUIRE(pipe(down.data()) == 0);
    REQUIRE(pipe(gone.data()) == 0);
    // Both in processes of their own: what is tested here would end this one.
    const pid_t sender = fork();
    if (sender == 0) {
      alarm(60);  // a process that hangs is a failure of this test: it waits for both
      _exit(send_and_end(name, up[1], down[0]));
    }
    const pid_t receiver = fork();
    if (receiver == 0) {
      alarm(60);
      auto transport = opened(name, 0);
      Nobody client;
      const std::vector<std::string> addresses = {"", exchanged((*transport)->address(), down[1], up[0])};
      char byte = 0;
      if (read(gone[0], &byte, 1) != 1) _exit(4);  // the other one has sent and ended
      if (!(*transport)->connect(addresses, client)) _exit(3);
      progress_for(**transport, Seconds(0.3));
      static_cast<void>((*transport)->close(after(Seconds(0.1))));
      _exit(0);
    }
    int status = 0;
    waitpid(sender, &status, 0);
    CHECK(status == 0);
    CHECK(write(gone[1], "", 1) == 1);
    waitpid(receiver, &status, 0);
    CHECK(status == 0);
    for (const int fd : {up[0], up[1], down[0], down[1], gone[0], gone[1]}) close(fd);
  }
}

}  // namespace casync::test
