// SPDX-License-Identifier: Apache-2.0
#include "casync/planner/search/gradient_classes.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <string>

#include "casync/planner/search/options.h"

namespace casync {

Result<GradientClasses> GradientClasses::make(Evaluator& evaluator, double step_price) {
  GradientClasses made;
  std::map<std::string, std::size_t> known;
  const std::vector<TrainedGradient>& gradients = evaluator.request().training.gradients;
  for (std::size_t g = 0; g < gradients.size(); ++g) {
    const auto [place, fresh] = known.emplace(evaluator.kind_of(g), made.classes_.size());
    if (fresh) made.classes_.emplace_back();
    GradientClass& own = made.classes_[place->second];
    own.gradients.push_back(g);
    own.bytes += static_cast<double>(gradients[g].spec.bytes());
    made.class_of_.push_back(place->second);
    if (!fresh) continue;
    const Result<std::vector<const Option*>> options = all_options(evaluator, g);
    if (!options) return options.status();
    own.options = worthwhile(*options, step_price);
  }
  return made;
}

std::vector<std::size_t> GradientClasses::by_bytes() const {
  std::vector<std::size_t> order(classes_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return classes_[a].bytes > classes_[b].bytes; });
  return order;
}

}  // namespace casync
