// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "base/units.h"
#include "casync/model/codec_choice.h"

namespace casync {

enum class StrategyKind : std::uint8_t {
#define CASYNC_STRATEGY(kind, ...) kind,
#include "casync/model/strategies.def"
};

/// The ranks that own the partitions of a gradient under strategy `ps`.
struct Servers {
  int count = 0;           ///< 0: every rank owns some
  bool dedicated = false;  ///< they contribute nothing, and the mean is that of the other ranks

  bool operator==(const Servers&) const = default;
};

inline int owner_count(const Servers& servers, int ranks) { return servers.count > 0 ? servers.count : ranks; }

/// A codec's parameter that begins with another value: in the warm-up steps it goes from here to its own.
struct WarmUpFrom {
  std::string parameter;
  double value = 0;

  bool operator==(const WarmUpFrom&) const = default;
};

/// The memory of a codec's residuals and other states from step to step.
enum class ResidualMemory : std::uint8_t {
  kTwoBuffers,  ///< 8 bytes a float: a step that is not finite, or fails, leaves it as the previous step did
  kOneBuffer,   ///< 4 bytes: a step changes it in place, and after one that is not finite it begins anew
  kBFloat16,    ///< 4 bytes: two buffers of bfloat16, rounded at random so that sums come out right
};

/// As plans write it.
constexpr const char* name_of(ResidualMemory memory) {
  switch (memory) {
    case ResidualMemory::kTwoBuffers: return "two_buffers";
    case ResidualMemory::kOneBuffer: return "one_buffer";
    case ResidualMemory::kBFloat16: return "bfloat16";
  }
  return "";
}
inline constexpr ResidualMemory kResidualMemories[] = {ResidualMemory::kTwoBuffers, ResidualMemory::kOneBuffer,
                                                       ResidualMemory::kBFloat16};

/// Gradients of up to so many bytes as float32 have two buffers of float32 whatever is chosen: they take little memory.
inline constexpr Bytes kAlwaysTwoBuffers = 16_KiB;

/// The fields of a default, a rule or an entry. An unset field takes its value from the next weaker source.
struct Choice {
  std::optional<CodecChoice> codec;
  std::optional<CodecChoice> second_hop;  ///< codec of the merged result; unset: the same as `codec`
  std::optional<StrategyKind> strategy;
  std::optional<Bytes> partition_bytes;  ///< measured on the gradient in memory, not on the wire
  std::optional<int> partitions;         ///< an exact number, stronger than partition_bytes
  std::optional<int> priority;
  std::optional<std::uint32_t> warm_up_steps;
  std::optional<WarmUpFrom> warm_up_from = std::nullopt;
  std::optional<Servers> servers = std::nullopt;  ///< counts with strategy `ps` only
  std::optional<ResidualMemory> residual_memory = std::nullopt;
  // Limits for the planner: a source that sets one of these and no codec leaves the codec to the planner.
  std::optional<double> max_error;   ///< squared error over squared values, on each hop, of any codec it chooses
  std::vector<CodecChoice> allowed;  ///< the planner chooses one of these, or none; empty: no restriction
};

/// Applies to each gradient whose whole name matches `match` (* any text, ? one character). First match wins.
struct Rule {
  std::string match;
  Choice choice;
};

/// Applies to one gradient; stronger than every rule.
struct Entry {
  std::string name;
  Choice choice;
};

/// Gradients that are sent as one. What is decided is decided for the group: it is a gradient of its own, and rules and
/// the default apply to its name, not to those of its members.
struct GradientGroup {
  std::string name;
  std::vector<std::string> gradients;  ///< at least one; each is in one group only
  Choice choice;                       ///< stronger than every rule
};

/// The setup that a plan says it was made for; unset fields say nothing.
struct World {
  std::optional<int> ranks;
  std::optional<int> nodes;
  std::string profile_digest;
};

/// The planner's prediction for a step with this plan in the setup that it was made for.
struct Prediction {
  double step_s = 0;
  double training_s = 0;  ///< the part of step_s that forward and backward pass take alone
  double encode_s = 0, merge_s = 0, decode_s = 0;

  bool operator==(const Prediction&) const = default;
};

/// Each step of staleness takes the memory of all gradients once more.
inline constexpr std::uint32_t kMostStaleness = 16;

/// The ranks with which a rank averages its parameters.
enum class Neighbours : std::uint8_t {
  kAll,    ///< no gossip
  kRing,   ///< the ranks one below and one above it
  kPairs,  ///< one rank, another one in each exchange, drawn from the plan's seed
};

/// Owners of partitions add contributions as they come, and answer each rank by itself.
struct Asynchronous {
  /// A step's answer waits for contributions of all ranks to the step so many earlier, or to a later one; unset: for
  /// none of them.
  std::optional<std::uint32_t> bound = std::nullopt;
  std::uint32_t first = 1;  ///< and for so many contributions to the step itself, of any ranks

  bool operator==(const Asynchronous&) const = default;
};

/// The steps in which ranks exchange, and what they exchange.
struct SyncMode {
  /// Local SGD: from step `from_step` on, ranks exchange by how much their parameters have moved since they last were
  /// the same, and only in the last of each `every` steps. Until then every step exchanges gradients, uncompressed, so
  /// that no residual of gradients is left when differences follow. 0: every step exchanges gradients.
  std::uint32_t every = 0;
  std::uint32_t from_step = 0;
  /// Gossip, where it is not kAll: in the same steps, ranks average their parameters with these ranks only.
  Neighbours neighbours = Neighbours::kAll;
  /// Gossip with codecs that lose: the part of the way to the mean of the copies that a rank's parameters go in an
  /// exchange, above 0 and at most 1. 0: a part that suits the codec.
  double gamma = 0;
  /// Number of steps after which a step's result is applied: 0 to kMostStaleness. Never with local SGD or gossip.
  std::uint32_t staleness = 0;
  /// Unset: a step's result is the same on all ranks. Never with any of the others.
  std::optional<Asynchronous> asynchronous = std::nullopt;

  bool is_local() const { return every > 0; }
  bool is_gossip() const { return neighbours != Neighbours::kAll; }
  bool is_asynchronous() const { return asynchronous.has_value(); }
  bool operator==(const SyncMode&) const = default;
};

/// The data that ranks exchange in a step. Numbers as in plugins/c_api/casync.h.
enum class Exchanged : std::uint8_t { kGradients, kNothing, kDifferences, kParameters };

inline Exchanged exchanged_in(const SyncMode& mode, std::uint32_t step) {
  if (!mode.is_local() || step < mode.from_step) return Exchanged::kGradients;
  if ((step - mode.from_step + 1) % mode.every != 0) return Exchanged::kNothing;
  return mode.is_gossip() ? Exchanged::kParameters : Exchanged::kDifferences;
}

/// The plan as data. proto/plan.proto has the file format; planner/plan_file.h reads and writes it.
struct Plan {
  Choice defaults;
  std::vector<Rule> rules;
  std::vector<Entry> gradients;
  std::vector<GradientGroup> groups;
  World world;
  Bytes fusion_bytes = 64_KiB;  ///< small messages to one peer travel together up to this many bytes; 0: never
  bool coordinated = false;     ///< ranks send when a coordinator lets them: one bulk to and from each at a time
  Bytes credit_bytes = 0;       ///< a port has so many bytes of messages under way, or one message; 0: links pace them
  std::uint64_t seed = 0;
  std::optional<Prediction> predicted;
  SyncMode mode;
};

/// The complete decision for one gradient.
struct Decision {
  CodecChoice codec;
  CodecChoice second_hop;
  StrategyKind strategy = StrategyKind::kPs;
  int partitions = 1;
  int priority = 0;
  std::uint32_t warm_up_steps = 0;  ///< the first so many steps of a training are not compressed, or
  std::optional<WarmUpFrom> warm_up_from = std::nullopt;  ///< with other values of this parameter
  Servers servers = {};                                   ///< none but with strategy `ps`
  ResidualMemory residual_memory = ResidualMemory::kTwoBuffers;

  bool operator==(const Decision&) const = default;
};

/// The bytes of the largest gradients that travel in bundles.
inline constexpr Bytes kBundledGradientBytes = 16_KiB;

/// Returns true if such gradients, submitted together, are one task and one message: small ones of `ps` in one
/// partition. Sessions leave out some codecs besides (runtime/executor/bundle.h).
inline bool travels_in_bundle(const Decision& decision, DType dtype, Elements elements) {
  return decision.strategy == StrategyKind::kPs && decision.partitions == 1 && dtype == DType::kFloat32 &&
         elements > 0 && elements * bytes_of(dtype) <= kBundledGradientBytes;
}

}  // namespace casync
