// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <tuple>

#include "casync/strategies/asynchronous.h"

namespace casync::test {
namespace {

/// A message: from, to, partition, hop. Counted once for its Send and once for its Recv.
using Messages = std::map<std::tuple<Rank, Rank, std::uint32_t, std::uint32_t>, std::pair<int, int>>;

void count(const TaskGraph& graph, Rank self, Messages& messages) {
  for (const Primitive& task : graph.tasks()) {
    if (const Send* send = std::get_if<Send>(&task)) {
      ++messages[{self, send->to, send->id.partition, send->id.hop}].first;
    } else if (const Recv* recv = std::get_if<Recv>(&task)) {
      ++messages[{recv->from, self, recv->id.partition, recv->id.hop}].second;
    }
  }
}

}  // namespace

TEST_CASE("asynchronous graphs: a rank's messages are those of owners, and each element is encoded and decoded once") {
  for (const int ranks : {1, 2, 3, 5}) {
    for (const std::size_t partitions : {std::size_t{1}, std::size_t{3}, std::size_t{7}}) {
      for (const Elements elements : {Elements{2}, Elements{5000}}) {
        INFO(ranks << " ranks, " << partitions << " partitions, " << elements << " elements");
        Messages messages;
        std::vector<Elements> decoded(static_cast<std::size_t>(ranks)), encoded(decoded);
        for (Rank self = 0; self < ranks; ++self) {
          const Exchange exchange{
              .elements = elements, .partitions = partitions, .ranks = ranks, .self = self, .first_owner = 4};
          const TaskGraph own = asynchronous_graph(exchange);
          for (const Primitive& task : own.tasks()) {
            const auto rank = static_cast<std::size_t>(self);
            if (const Decode* decode = std::get_if<Decode>(&task)) decoded[rank] += decode->to.count;
            if (const Encode* encode = std::get_if<Encode>(&task)) encoded[rank] += encode->from.count;
          }
          count(own, self, messages);
          count(owner_graph(exchange), self, messages);
        }
        Elements owned = 0;
        for (std::size_t rank = 0; rank < decoded.size(); ++rank) {
          CHECK(decoded[rank] == elements);
          owned += elements - encoded[rank];
        }
        CHECK(owned == elements);  // an owner adds its own elements as they are
        // Every rank gets an answer of each partition with elements, and all but its owner contribute.
        const auto filled = static_cast<int>(std::min<Elements>(elements, partitions));
        CHECK(static_cast<int>(messages.size()) == filled * (ranks - 1 + ranks));
        for (const auto& [message, ends] : messages) {
          const auto& [from, to, partition, hop] = message;
          INFO("from " << from << " to " << to << ", partition " << partition << ", hop " << hop);
          CHECK(ends.second == 1);
          CHECK(ends.first == (from == to ? 0 : 1));  // an owner answers itself without a message
        }
      }
    }
  }
}

TEST_CASE("asynchronous graphs: dedicated servers encode nothing, and nobody receives contributions from them") {
  const std::vector<Rank> servers = {1, 3};
  Messages messages;
  std::vector<Elements> encoded(5);
  for (Rank self = 0; self < 5; ++self) {
    const Exchange exchange{
        .elements = 1000, .partitions = 4, .ranks = 5, .self = self, .servers = servers, .dedicated = true};
    const TaskGraph own = asynchronous_graph(exchange);
    for (const Primitive& task : own.tasks()) {
      if (const Encode* encode = std::get_if<Encode>(&task))
        encoded[static_cast<std::size_t>(self)] += encode->from.count;
    }
    count(own, self, messages);
    count(owner_graph(exchange), self, messages);
  }
  CHECK(encoded == std::vector<Elements>{1000, 0, 1000, 0, 1000});
  int contributions = 0, answers = 0;
  for (const auto& [message, ends] : messages) {
    const auto& [from, to, partition, hop] = message;
    INFO("from " << from << " to " << to << ", partition " << partition << ", hop " << hop);
    CHECK(ends.second == 1);
    CHECK(ends.first == (from == to ? 0 : 1));
    (hop == 0 ? contributions : answers) += 1;
  }
  CHECK(contributions == 3 * 4);
  CHECK(answers == 5 * 4);
}

}  // namespace casync::test
