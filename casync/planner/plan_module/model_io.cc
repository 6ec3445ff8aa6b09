// SPDX-License-Identifier: Apache-2.0
#include "casync/planner/plan_module/model_io.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "proto/checked_numbers.h"
#include "proto/model.pb.h"
#include "proto/text_reader.h"
#include "proto/text_writer.h"

namespace casync {
namespace {

namespace wire = model::v1;
using proto::checked;
using proto::number_text;
using proto::Placed;
using proto::quoted;
using proto::required;
using proto::version_is;

constexpr int kVersion = 1;
constexpr Elements kMostElements = Elements{1} << 32;  // as the session takes them

void read_shape(const Placed<wire::Gradient>& from, GradientSpec& spec) {
  Elements elements = 1;
  for (const std::int64_t extent : from->shape()) {
    const bool fits = extent >= 0 && (extent == 0 || elements <= kMostElements / static_cast<Elements>(extent));
    if (!fits) {
      from.refuse("an extent of " + std::to_string(extent) + ", expected extents from 0 and at most 2^32 elements");
      return spec.shape.clear();
    }
    elements *= static_cast<Elements>(extent);
    spec.shape.push_back(extent);
  }
}

/// Reads a moment of a pass, in seconds from its beginning.
double moment(const Placed<wire::Gradient>& from, int number, bool set, double value, double end) {
  const double at = required(from, number, set, value, 0);
  if (at <= end) return at;
  from.refuse(number, std::string(wire::Gradient::descriptor()->FindFieldByNumber(number)->name()) + " " +
                          number_text(at) + ", expected at most " + number_text(end) + ", the length of its pass");
  return end;
}

TrainedGradient read_gradient(const Placed<wire::Gradient>& from, const Training& training) {
  TrainedGradient gradient;
  gradient.spec.name = from->name();
  if (from->name().empty()) from.refuse("a gradient without a name, expected name: \"NAME\"");
  read_shape(from, gradient.spec);
  if (from->has_dtype()) {
    const std::optional<DType> dtype = dtype_from(from->dtype());
    if (!dtype) {
      from.refuse(wire::Gradient::kDtypeFieldNumber,
                  "dtype " + quoted(from->dtype()) + ", expected \"float32\", \"float16\" or \"bfloat16\"");
    }
    gradient.spec.dtype = dtype.value_or(DType::kFloat32);
  }
  gradient.spec.scattered = from->scattered();
  gradient.ready_s = moment(from, wire::Gradient::kReadySecondsFieldNumber, from->has_ready_seconds(),
                            from->ready_seconds(), training.backward_s);
  gradient.need_s = moment(from, wire::Gradient::kNeedSecondsFieldNumber, from->has_need_seconds(),
                           from->need_seconds(), training.forward_s);
  return gradient;
}

/// Returns true if all gradients are needed within moments, as by DDP, which waits for all at once: then the file's
/// order counts, which is that of the parameters.
bool needed_together(const Training& training) {
  constexpr double kAtOnce = 0.01;  // of a step
  const auto [first, last] =
      std::minmax_element(training.gradients.begin(), training.gradients.end(),
                          [](const TrainedGradient& a, const TrainedGradient& b) { return a.need_s < b.need_s; });
  return first == last || last->need_s - first->need_s <= kAtOnce * (training.backward_s + training.forward_s);
}

void set_priorities(Training& training) {
  std::vector<TrainedGradient>& gradients = training.gradients;
  std::vector<std::size_t> order(gradients.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (!needed_together(training)) {
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return gradients[a].need_s < gradients[b].need_s; });
  }
  for (std::size_t i = 0; i < order.size(); ++i) gradients[order[i]].spec.priority = static_cast<int>(i);
}

constexpr std::int64_t kMostRanks = 65536;  // as `casync simulate` takes them

/// Reads a slow rank; nothing if its rank is no number of one.
std::optional<SlowRank> read_slow(const Placed<wire::Slow>& from) {
  if (!from->has_rank()) from.refuse("no rank, expected a number");
  const auto rank = from.within(wire::Slow::kRankFieldNumber, from->has_rank(), from->rank(), 0, kMostRanks - 1);
  const double factor = required(from, wire::Slow::kFactorFieldNumber, from->has_factor(), from->factor(), 0);
  if (from->has_factor() && from->factor() == 0) {
    from.refuse(wire::Slow::kFactorFieldNumber, "factor 0, expected a number above 0");
  }
  if (!rank) return std::nullopt;
  return SlowRank{static_cast<Rank>(*rank), factor};
}

void read_slow_ranks(const Placed<wire::Model>& from, Training& training) {
  for (int i = 0; i < from->slow_size() && !from.hopeless(); ++i) {
    const auto slow = from.inner(from->slow(i), wire::Model::kSlowFieldNumber, i);
    const std::optional<SlowRank> one = read_slow(slow);
    if (!one) continue;
    const auto is_it = [&](const SlowRank& known) { return known.rank == one->rank; };
    if (std::any_of(training.slow.begin(), training.slow.end(), is_it)) {
      slow.refuse("slow rank " + std::to_string(one->rank) + " a second time, expected once");
    }
    training.slow.push_back(*one);
  }
}

Training read_model(const Placed<wire::Model>& from) {
  Training training;
  training.name = from->name();
  training.source = from->source();
  training.backward_s = required(from, wire::Model::kBackwardSecondsFieldNumber, from->has_backward_seconds(),
                                 from->backward_seconds(), 0);
  training.forward_s =
      required(from, wire::Model::kForwardSecondsFieldNumber, from->has_forward_seconds(), from->forward_seconds(), 0);
  const int number = wire::Model::kGradientFieldNumber;
  std::map<std::string_view, int> index_of;
  for (int i = 0; i < from->gradient_size() && !from.hopeless(); ++i) {
    const auto gradient = from.inner(from->gradient(i), number, i);
    const auto [first, fresh] = index_of.emplace(gradient->name(), i);
    if (!fresh && !gradient->name().empty()) {
      gradient.refuse("gradient " + quoted(gradient->name()) + " a second time, expected once (the first is in line " +
                      std::to_string(from.line(number, first->second)) + ")");
    }
    training.gradients.push_back(read_gradient(gradient, training));
  }
  set_priorities(training);
  read_slow_ranks(from, training);
  if (from->has_jitter()) training.jitter = checked(from, wire::Model::kJitterFieldNumber, from->jitter(), 0);
  return training;
}

}  // namespace

Result<Training> parse_model(std::string_view text, std::string_view source) {
  wire::Model message;
  proto::Places places;
  proto::TextDiagnostics diagnostics(text, source);
  const bool read = proto::read_text(&message, &places, &diagnostics);
  const Placed<wire::Model> root(message, &places, {}, diagnostics);
  const bool other_version = message.has_version() && message.version() != kVersion;
  // In a file of another version all other mistakes are only consequences.
  if (other_version) diagnostics.clear();
  Training training;
  if ((read || other_version) && version_is(root, kVersion)) training = read_model(root);
  if (!diagnostics.empty()) return diagnostics.status();
  return training;
}

std::string model_text(const Training& training) {
  wire::Model message;
  message.set_version(kVersion);
  if (!training.name.empty()) message.set_name(training.name);
  if (!training.source.empty()) message.set_source(training.source);
  message.set_backward_seconds(training.backward_s);
  message.set_forward_seconds(training.forward_s);
  for (const TrainedGradient& gradient : training.gradients) {
    wire::Gradient* to = message.add_gradient();
    to->set_name(gradient.spec.name);
    for (const std::int64_t extent : gradient.spec.shape) to->add_shape(extent);
    if (gradient.spec.dtype != DType::kFloat32) to->set_dtype(std::string(name_of(gradient.spec.dtype)));
    to->set_ready_seconds(gradient.ready_s);
    to->set_need_seconds(gradient.need_s);
    if (gradient.spec.scattered) to->set_scattered(true);
  }
  for (const SlowRank& slow : training.slow) {
    wire::Slow* to = message.add_slow();
    to->set_rank(slow.rank);
    to->set_factor(slow.factor);
  }
  if (training.jitter > 0) message.set_jitter(training.jitter);
  return proto::text_of(message);
}

}  // namespace casync
