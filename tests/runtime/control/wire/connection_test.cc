// SPDX-License-Identifier: Apache-2.0
#include "runtime/control/wire/connection.h"

#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <catch2/catch.hpp>

using namespace casync;
using namespace casync::runtime;
using Catch::Matchers::Contains;

namespace {

/// One end is a Connection, the other a bare socket.
struct Ends {
  Ends() {
    std::array<int, 2> fds{};
    REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds.data()) == 0);
    near = std::make_unique<Connection>(Fd(fds[0]), "in", "out", Clock::now());
    far = Fd(fds[1]);
  }
  bool is_readable() const {
    pollfd entry{near->fd(), POLLIN, 0};
    return poll(&entry, 1, 0) == 1;
  }
  std::unique_ptr<Connection> near;
  Fd far;
};

}  // namespace

TEST_CASE("connection: frames of any size arrive whole, however the socket cuts them") {
  Ends ends;
  Connection other(std::move(ends.far), "out", "in", Clock::now());
  const std::string blob(3'000'000, 'b');
  ends.near->send(FrameType::kGather, blob);
  ends.near->send(FrameType::kBeat, std::string());
  CHECK(ends.near->has_output());  // more than a socket takes at once
  std::vector<Frame> frames;
  for (int turn = 0; turn < 10'000 && frames.size() < 2; ++turn) {
    REQUIRE(other.read(&frames).text() == "OK");
    ends.near->write();
  }
  REQUIRE(frames.size() == 2);
  CHECK((frames[0].payload->bytes == blob));
  CHECK(frames[1].type == FrameType::kBeat);
  CHECK_FALSE(ends.near->has_output());
}

TEST_CASE("connection: a write that fails is seen at once, although the peer is there and silent") {
  Ends ends;
  shutdown(ends.near->fd(), SHUT_WR);  // the next write fails; nothing to read, and nothing will come
  std::vector<Frame> frames;
  REQUIRE(ends.near->read(&frames).is_ok());
  REQUIRE_FALSE(ends.is_readable());
  ends.near->send(FrameType::kBeat, std::string());
  CHECK(ends.is_readable());
  CHECK_FALSE(ends.near->has_output());  // or who waits for room to write would spin
  CHECK(ends.near->read(&frames).code() == StatusCode::kPeerFailure);
}

TEST_CASE("connection: bytes that arrived ahead of a failed write are still delivered") {
  Ends ends;
  FrameSealer sealer("in");
  const Payload last_words("why");
  const std::string bytes = sealer.header(FrameType::kAbort, last_words) + last_words.bytes;
  REQUIRE(write(ends.far.get(), bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
  ends.far.reset();
  ends.near->send(FrameType::kBeat, std::string());
  std::vector<Frame> frames;
  const Status status = ends.near->read(&frames);
  CHECK(status.code() == StatusCode::kPeerFailure);
  CHECK_THAT(status.message(), Contains("connection closed"));
  REQUIRE(frames.size() == 1);
  CHECK(frames[0].payload->bytes == "why");
}
