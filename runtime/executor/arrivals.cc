// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/arrivals.h"

#include <algorithm>
#include <utility>
#include <variant>

namespace casync::runtime {
namespace {

bool is_ahead(const Arrivals::Arrival& one, const std::pair<MessageId, Rank>& other) {
  return std::pair(one.id(), one.from()) < other;
}

}  // namespace

Arrivals::Arrivals(const TaskGraph& graph) {
  for (std::size_t i = 0; i < graph.tasks().size(); ++i) {
    const Recv* const recv = std::get_if<Recv>(&graph.tasks()[i]);
    if (recv != nullptr) sorted_.emplace_back(*recv, TaskId(static_cast<std::uint32_t>(i)));
  }
  std::sort(sorted_.begin(), sorted_.end(), [](const Arrival& a, const Arrival& b) {
    return is_ahead(a, {b.id(), b.from()});
  });
}

const Arrivals::Arrival* Arrivals::find(MessageId id, Rank from) const {
  const auto found = std::lower_bound(sorted_.begin(), sorted_.end(), std::pair(id, from), is_ahead);
  if (found == sorted_.end() || found->id() != id || found->from() != from) return nullptr;
  return &*found;
}

Arrivals::Arrival* Arrivals::find(MessageId id, Rank from) {
  return const_cast<Arrival*>(std::as_const(*this).find(id, from));
}

}  // namespace casync::runtime
