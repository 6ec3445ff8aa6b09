// SPDX-License-Identifier: Apache-2.0
#include "casync/simulator/utility_model.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace casync {
namespace {

double latency(const UtilityModel& model) { return 2.0 * (model.ranks - 1) * model.alpha_s; }
double wire(const UtilityModel& model, double bytes) {
  return 2.0 * (model.ranks - 1) / model.ranks * bytes * model.byte_s;
}
/// All buckets but the last, which may be smaller and is never empty.
double full_buckets(const UtilityModel& model, double bytes) {
  return std::max(0.0, std::ceil(bytes / model.bucket_bytes) - 1);
}

}  // namespace

UtilityModel utility_model(const Topology& topology, const Profile& profile, double backward_s, double forward_s) {
  const Link& link = topology.nodes() > 1 ? profile.between : profile.inside;
  const auto bucket = static_cast<double>(kUtilityBucketBytes);
  const double piece = bucket / topology.ranks, fixed_s = link.wire.at(0);
  return {.ranks = topology.ranks,
          .alpha_s = link.latency_s + link.message_s + fixed_s,
          .byte_s = (link.wire.at(piece) - fixed_s) / piece,
          .bucket_bytes = bucket,
          .overlap = profile.contention.training,
          .backward_s = backward_s,
          .forward_s = forward_s};
}

UtilityStep uncompressed_step(const UtilityModel& model, double bytes) {
  const double full = full_buckets(model, bytes);
  const double beside_s = full * (latency(model) + wire(model, model.bucket_bytes));
  // Nothing is slowed down where nothing travels meanwhile.
  const double backward_s = model.backward_s * (beside_s > 0 ? model.overlap : 1);
  return {.computing_s = backward_s + model.forward_s,
          .latency_s = (full + 1) * latency(model),
          .wire_s = wire(model, bytes),
          .hidden_s = std::min(backward_s, beside_s)};
}

UtilityStep compressed_step(const UtilityModel& model, double bytes, double encode_s, double decode_s) {
  return {.computing_s = model.backward_s + model.forward_s,
          .encode_s = encode_s,
          .decode_s = decode_s,
          .latency_s = latency(model),
          .wire_s = wire(model, bytes)};
}

double enough_compression(const UtilityModel& model, double bytes) {
  const double full = full_buckets(model, bytes);
  const double left_s = model.overlap * model.backward_s - full * latency(model);
  const double wire_s = full * wire(model, model.bucket_bytes);
  if (wire_s <= std::max(left_s, 0.0)) return 1;
  return left_s > 0 ? wire_s / left_s : std::numeric_limits<double>::infinity();
}

}  // namespace casync
