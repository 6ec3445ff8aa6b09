// SPDX-License-Identifier: Apache-2.0
#include "tools/casync/planning/kept_memory.h"

#include <algorithm>
#include <cstdio>

#include "casync/planner/decide.h"
#include "casync/planner/search/payload_bits.h"
#include "casync/planner/search/request.h"
#include "compll/codec/codec.h"
#include "compll/codec/kept.h"
#include "compll/codec/rounds_codec.h"
#include "tools/casync/codec_facts.h"

namespace casync::tools {
namespace {

constexpr double kFloat = sizeof(float);

Result<compll::CodecInfo> info_of(const CodecChoice& choice) {
  if (compll::has_rounds(choice.name)) {
    const auto codec = compll::make_rounds_codec(choice.name, choice.parameters);
    if (!codec) return codec.status();
    return (*codec)->info();
  }
  const auto codec = compll::make_codec(choice.name, choice.parameters);
  if (!codec) return codec.status();
  return (*codec)->info();
}

/// Returns true if ranks exchange codes of differences, as a session decides it (runtime/session/inner_runs.cc).
bool gossips_codes(const SyncMode& mode, const Decision& decision, DType dtype) {
  const CodecChoice exact = in_own_type({}, dtype).codec;
  const Decision own = in_own_type(decision, dtype);
  return mode.is_gossip() && !(own.codec == exact && own.second_hop == exact);
}

}  // namespace

Status check_residual_memory(ResidualMemory memory, const CodecChoice& choice) {
  const Result<compll::CodecInfo> info = info_of(choice);
  if (!info || memory == ResidualMemory::kTwoBuffers) return info.status();
  return memory == ResidualMemory::kOneBuffer ? compll::check_one_buffer(*info) : compll::check_bfloat16(*info);
}

Status KeptMemory::add(const Decision& decision, const std::optional<Rounds>& rounds, const GradientSpec& spec) {
  const Result<compll::CodecInfo> first = info_of(decision.codec);
  if (!first) return first.status();
  const Result<compll::CodecInfo> second = info_of(decision.second_hop);
  if (!second) return second.status();
  for (const CodecChoice& codec : {decision.codec, decision.second_hop}) {
    CASYNC_RETURN_IF_ERROR(check_residual_memory(decision.residual_memory, codec));
  }
  if (gossips_codes(mode_, decision, spec.dtype)) {
    add_copies(spec);
    return Status::ok();
  }
  const auto elements = static_cast<double>(spec.elements());
  const double floats =
      rounds ? static_cast<double>(rounds->states) : elements * compll::kept_per_element(*first, *second);
  if (floats == 0) return Status::ok();
  const bool is_small = spec.elements() * sizeof(float) <= kAlwaysTwoBuffers;
  const bool halves = !is_small && compll::check_one_buffer(*first) && compll::check_one_buffer(*second);
  const double two_buffers = 2 * kFloat * floats, least = halves ? two_buffers / 2 : two_buffers;
  elements_ += elements;
  bytes_ += decision.residual_memory == ResidualMemory::kTwoBuffers ? two_buffers : least;
  least_ += least;
  return Status::ok();
}

void KeptMemory::add_copies(const GradientSpec& spec) {
  constexpr int kMostCopies = 3;  // this rank's, and those of its neighbours on a ring; in one buffer
  const auto elements = static_cast<double>(spec.elements());
  const double copies = kFloat * elements * std::min(ranks_, kMostCopies);
  elements_ += elements;
  bytes_ += copies;
  least_ += copies;
}

std::string KeptMemory::text() const {
  if (elements_ == 0) return "";
  char text[160];
  std::snprintf(text, sizeof text, "each rank keeps %.3g MB from step to step: %.2f bytes an element", bytes_ / 1e6,
                bytes_ / elements_);
  std::string all = text;
  if (least_ >= bytes_) return all;
  std::snprintf(text, sizeof text, ", %.2f with residual_memory one_buffer", least_ / elements_);
  return all + text;
}

nlohmann::ordered_json KeptMemory::json() const {
  return {{"bytes", bytes_},
          {"bytes_per_element", elements_ > 0 ? bytes_ / elements_ : 0},
          {"bytes_with_one_buffer", least_}};
}

Result<KeptMemory> kept_memory(const Plan& plan, std::span<const GradientSpec> gradients, int ranks) {
  KeptMemory memory(plan.mode, ranks);
  for (const GradientSpec& spec : gradients) {
    Decision decision = decide(plan, spec, ranks, payload_bits(facts_of));
    const Result<std::optional<Rounds>> rounds = rounds_of(decision, spec, ranks, {}, facts_of);
    const Status added = rounds ? memory.add(decision, *rounds, spec) : rounds.status();
    if (!added) return Status(added.code(), "gradient `" + spec.name + "`: " + added.message());
  }
  return memory;
}

}  // namespace casync::tools
