// SPDX-License-Identifier: Apache-2.0
#include "runtime/transport/ucx/ucx_address.h"

#include <unistd.h>

#include <string>
#include <string_view>

#include <catch2/catch.hpp>

namespace casync::test {
namespace {

using casync::runtime::read_ucx_address;
using casync::runtime::ucx_address_text;
using casync::runtime::UcxAddress;

constexpr std::string_view kBytes("\n\0 of UCX", 9);

}  // namespace

TEST_CASE("ucx address: it brings UCX's bytes, and says that this process is on this host") {
  const Result<UcxAddress> read = read_ucx_address("ucx:tcp", ucx_address_text("ucx:tcp", kBytes));
  REQUIRE(read);
  CHECK(read->bytes == kBytes);
  CHECK(read->on_this_host());
  CHECK(read->pid() == getpid());
}

TEST_CASE("ucx address: a process of another host or namespace has no number here") {
  UcxAddress address = *read_ucx_address("ucx", ucx_address_text("ucx", kBytes));
  const std::string own = address.place;
  address.place = "0" + own;
  CHECK_FALSE(address.on_this_host());
  CHECK(address.pid() == 0);
  const std::size_t space = own.find('.'), number = own.rfind('.');
  address.place = own.substr(0, space) + ".pid:[1]" + own.substr(number);
  CHECK(address.on_this_host());
  CHECK(address.pid() == 0);
}

TEST_CASE("ucx address: one of another transport, a damaged one and none are refused, with the line that came") {
  const std::string text = ucx_address_text("ucx:tcp", kBytes);
  const Status other = read_ucx_address("ucx:shm", text).status();
  CHECK(other.code() == StatusCode::kInvalidArgument);
  CHECK(other.message() == "no address of the transport ucx:shm: \"" + text.substr(0, text.find('\n')) + "\"");
  for (const std::size_t at : {std::size_t{0}, text.find('\n') - 1, text.size() - 1}) {
    std::string damaged = text;
    damaged[at] ^= 1;
    CHECK_FALSE(read_ucx_address("ucx:tcp", damaged));
  }
  CHECK_FALSE(read_ucx_address("ucx:tcp", ""));
  CHECK_FALSE(read_ucx_address("ucx:tcp", "loopback 9 1"));
}

}  // namespace casync::test
