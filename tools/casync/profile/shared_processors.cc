// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>

#include "tools/casync/profile/processors.h"
#include "tools/casync/profile/terms.h"

namespace casync::tools {
namespace {

constexpr int kTinyStepRanks = 2;  ///< whose processes measure the costs of tasks, on this rank's processors

void lengthen(Curve& curve, double times) {
  for (Curve::Point& point : curve.points) point.seconds *= times;
}

}  // namespace

void share_out(const std::vector<Curve::Point>& both, std::vector<Curve::Point>& send,
               std::vector<Curve::Point>& receive) {
  for (std::size_t i = 0; i < both.size(); ++i) {
    const double alone = send[i].seconds + receive[i].seconds;
    if (alone <= 0) continue;
    const double times = both[i].seconds / alone;
    send[i].seconds *= times;
    receive[i].seconds *= times;
  }
}

void share_processors(double ranks_of_each, MeasuredProfile& made) {
  if (ranks_of_each <= 1) return;
  Profile& profile = made.profile;
  for (auto& [name, codec] : profile.codecs) {
    for (Curve* const curve : {&codec.encode, &codec.decode, &codec.merge, &codec.merge_base}) {
      lengthen(*curve, ranks_of_each);
    }
  }
  for (Link* const link : {&profile.inside, &profile.between}) {
    lengthen(link->send_work, ranks_of_each);
    lengthen(link->receive_work, ranks_of_each);
  }
  const double measured_with = ranks_per_processor(kTinyStepRanks, static_cast<std::size_t>(profile.processors));
  const double task_times = std::max(1.0, ranks_of_each / measured_with);
  profile.task_s *= task_times;
  if (profile.bundled_task_s) *profile.bundled_task_s *= task_times;
  char note[160];
  std::snprintf(note, sizeof note,
                "%.3g ranks compete for each processor: codecs and messages take %.3g times the processor time that is "
                "measured below",
                ranks_of_each, ranks_of_each);
  made.notes.push_back(note);
}

}  // namespace casync::tools
