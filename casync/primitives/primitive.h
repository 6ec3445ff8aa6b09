// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "base/units.h"

namespace casync {

/// A buffer of the graph: one encoded partition. An index into TaskGraph::buffers().
enum class BufferId : std::uint32_t {};
/// A node of the graph. An index into TaskGraph::tasks().
enum class TaskId : std::uint32_t {};

/// The encoding of a buffer: one of a decision's two codecs, or none at all.
enum class Hop : std::uint8_t {
  kFirst,   ///< towards the owner
  kSecond,  ///< the merged result from it
  kRaw,     ///< one rank's elements as they are, in the gradient's own type
  kSum,     ///< a float32 sum, which stays on its rank
};

/// Elements [first, first + count) of the gradient.
struct Slice {
  Elements first = 0;
  Elements count = 0;
  bool operator==(const Slice&) const = default;
};

/// The identity of a message within one gradient and step: the same on the sending and the receiving rank.
struct MessageId {
  std::uint32_t partition = 0;
  std::uint32_t hop = 0;  ///< 0, 1, ... along the partition's way
  bool operator==(const MessageId&) const = default;
  auto operator<=>(const MessageId&) const = default;  // NOLINT(modernize-use-nullptr): what the compiler writes
};

/// Encodes this rank's gradient elements `from` into `to`, feedback included.
struct Encode {
  Slice from;
  BufferId to;
};

/// Decodes `from` into the gradient: the elements are final then.
struct Decode {
  BufferId from;
  Slice to;
};

/// Adds contributions in the order listed and encodes the sum once into `to`, with the feedback of that codec.
struct Merge {
  /// Buffers, all of one hop except sums; nullopt is this rank's own gradient elements, unencoded (at most once).
  std::vector<std::optional<BufferId>> contributions;
  Slice local;  ///< the elements that a nullopt contribution stands for
  BufferId to;
  bool last = false;  ///< every rank's contribution is in: the reduction's scale (1 / ranks) applies here
};

struct Send {
  Rank to = 0;
  BufferId from;
  MessageId id;
};

struct Recv {
  Rank from = 0;
  BufferId to;
  MessageId id;
};

/// The five primitives; a closed set.
using Primitive = std::variant<Encode, Decode, Merge, Send, Recv>;

}  // namespace casync
