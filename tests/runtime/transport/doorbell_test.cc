// SPDX-License-Identifier: Apache-2.0
#include "runtime/transport/doorbell.h"

#include <sys/resource.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <thread>

#include "runtime/transport/loopback/factory.h"

using namespace casync;           // NOLINT(google-build-using-namespace)
using namespace casync::runtime;  // NOLINT(google-build-using-namespace)

namespace {

/// While it lives the process gets no descriptor.
class NoDescriptors {
 public:
  NoDescriptors() {
    getrlimit(RLIMIT_NOFILE, &saved_);
    rlimit none = saved_;
    none.rlim_cur = 0;
    setrlimit(RLIMIT_NOFILE, &none);
  }
  ~NoDescriptors() { setrlimit(RLIMIT_NOFILE, &saved_); }

 private:
  rlimit saved_{};
};

}  // namespace

TEST_CASE("doorbell: without a descriptor it says so, and the transport that needs it does not open") {
  Status bell, transport;
  TransportOptions options;
  options.epoch = 7700;
  {
    const NoDescriptors none;
    bell = Doorbell().status();
    transport = make_loopback(options).status();
  }
  CHECK(bell.text() == "Unavailable: cannot make an event descriptor: Too many open files");
  CHECK(transport.code() == StatusCode::kUnavailable);
  CHECK(Doorbell().status().is_ok());
  CHECK(make_loopback(options).status().is_ok());
}

TEST_CASE("doorbell: a ring ends the sleep under way, or the next one") {
  Doorbell bell;
  bell.ring();
  bell.sleep(-1, Clock::time_point::max());
  CHECK(bell.rang());
  CHECK_FALSE(bell.rang());
  std::thread other([&] { bell.ring(); });
  bell.sleep(-1, after(Seconds(60)));
  other.join();
  CHECK(bell.rang());
}
