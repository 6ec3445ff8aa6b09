// SPDX-License-Identifier: Apache-2.0
#include "casync/planner/search/bandwidth.h"

namespace casync {

PlanRequest with_bandwidth(const PlanRequest& request, double bytes_per_second) {
  PlanRequest other = request;
  Link& link = request.topology.nodes() > 1 ? other.profile.between : other.profile.inside;
  link.wire = Curve::affine(link.wire.at(0), 1 / bytes_per_second);
  return other;
}

}  // namespace casync
