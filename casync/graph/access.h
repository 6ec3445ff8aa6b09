// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <variant>

#include "casync/primitives/primitive.h"

namespace casync {

/// One callable from several, for std::visit on a Primitive.
template <class... Cases>
struct Match : Cases... {
  using Cases::operator()...;
};
template <class... Cases>
Match(Cases...) -> Match<Cases...>;

/// The buffer that `task` fills, if any.
inline std::optional<BufferId> written_buffer(const Primitive& task) {
  return std::visit(
      Match{[](const Encode& t) { return std::optional(t.to); }, [](const Merge& t) { return std::optional(t.to); },
            [](const Recv& t) { return std::optional(t.to); }, [](const auto&) { return std::optional<BufferId>(); }},
      task);
}

/// Calls visit(BufferId) for each buffer that `task` reads, in the order it reads them.
template <class Visit>
void for_each_read(const Primitive& task, Visit visit) {
  std::visit(Match{[&](const Decode& t) { visit(t.from); }, [&](const Send& t) { visit(t.from); },
                   [&](const Merge& t) {
                     for (const std::optional<BufferId>& part : t.contributions) {
                       if (part) visit(*part);
                     }
                   },
                   [](const auto&) {}},
             task);
}

/// The elements of this rank's own gradient that `task` reads, if any.
inline std::optional<Slice> gradient_read(const Primitive& task) {
  if (const auto* encode = std::get_if<Encode>(&task)) return encode->from;
  if (const auto* merge = std::get_if<Merge>(&task)) {
    for (const std::optional<BufferId>& part : merge->contributions) {
      if (!part) return merge->local;
    }
  }
  return std::nullopt;
}

}  // namespace casync
