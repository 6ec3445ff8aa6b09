// SPDX-License-Identifier: Apache-2.0
#include "casync/planner/search/bandwidth.h"

namespace casync {

double bandwidth_of(const PlanRequest& request) {
  constexpr double kSmaller = 1 << 20, kLarger = 1 << 24;
  const Link& link = request.topology.nodes() > 1 ? request.profile.between : request.profile.inside;
  return (kLarger - kSmaller) / (link.wire.at(kLarger) - link.wire.at(kSmaller));
}

PlanRequest with_bandwidth(const PlanRequest& request, double bytes_per_second) {
  PlanRequest other = request;
  Link& link = request.topology.nodes() > 1 ? other.profile.between : other.profile.inside;
  link.wire = Curve::affine(link.wire.at(0), 1 / bytes_per_second);
  return other;
}

}  // namespace casync
