// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include "runtime/transport/link.h"
#include "runtime/transport/loopback/factory.h"
#include "runtime/transport/paced.h"
#include "tests/conformance/transport_conformance.h"

namespace casync::test {

using runtime::TransportOptions;

TEST_CASE("loopback in a random order: the transport contract") {
  check_transport_in_threads([](const TransportOptions& options) {
    return runtime::make_loopback(options, {.shuffle_seed = 7 + static_cast<std::uint64_t>(options.rank)});
  });
}

TEST_CASE("paced loopback: the transport contract") {
  check_transport_in_threads([](const TransportOptions& options) -> Result<std::unique_ptr<runtime::Transport>> {
    auto bare = runtime::make_loopback(options);
    const auto link = runtime::parse_link("4gbit,100us");
    if (!bare || !link) return bare.status();
    return runtime::make_paced(std::move(*bare), *link, options.ranks);
  });
}

}  // namespace casync::test
