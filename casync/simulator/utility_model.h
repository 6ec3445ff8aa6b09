// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/units.h"
#include "casync/model/topology.h"
#include "casync/simulator/profile.h"

namespace casync {

/// The closed form of a data-parallel step in Agarwal et al., "On the Utility of Gradient Compression in Distributed
/// Training Systems" (MLSys 2022, section 4). Uncompressed gradients travel in buckets while the backward pass goes on,
///
///   max(overlap * backward, (k - 1) ring(bucket)) + ring(last bucket),
///   ring(b) = 2 (p - 1) alpha + 2 (p - 1) / p * b / bandwidth,
///
/// and the last bucket after it. Gradients are compressed after the backward pass, as a whole, because encoding during
/// it takes the same processors: backward + encode + ring(code) + decode. The forward pass, which that paper leaves
/// out, is added to both.
struct UtilityModel {
  int ranks = 1;            ///< p
  double alpha_s = 0;       ///< of one message, however small
  double byte_s = 0;        ///< 1 / bandwidth
  double bucket_bytes = 0;  ///< at least 1 byte
  double overlap = 1;       ///< so many times as long the backward pass takes during communication
  double backward_s = 0, forward_s = 0;
};

/// PyTorch's size of a bucket, and that of the paper.
inline constexpr Bytes kUtilityBucketBytes = 25_MiB;

/// Seconds of one step by term. The parts add up to the step, less what is hidden.
struct UtilityStep {
  double computing_s = 0;  ///< backward, with its slowdown, and forward
  double encode_s = 0, decode_s = 0;
  double latency_s = 0;  ///< the terms with alpha
  double wire_s = 0;     ///< the terms with the bandwidth
  double hidden_s = 0;   ///< of latency and wire, by the backward pass

  double step_s() const { return computing_s + encode_s + decode_s + latency_s + wire_s - hidden_s; }
};

/// The model of a training on a cluster: alpha and bandwidth are those of a ring over all ranks, whose slowest link is
/// one between nodes where there are several; bandwidth is taken at a message of 1/p of a bucket.
UtilityModel utility_model(const Topology& topology, const Profile& profile, double backward_s, double forward_s);

/// A step whose gradients of `bytes` together are sent as they are.
UtilityStep uncompressed_step(const UtilityModel& model, double bytes);

/// A step whose gradients take `bytes` of code, encoded and decoded in so many seconds.
UtilityStep compressed_step(const UtilityModel& model, double bytes, double encode_s, double decode_s);

/// The smallest ratio of compression that hides all buckets but the last during the backward pass: a higher ratio
/// gains no more than the last bucket. 1 if they are hidden uncompressed; infinity if latency alone takes longer than
/// the backward pass.
double enough_compression(const UtilityModel& model, double bytes);

}  // namespace casync
