// SPDX-License-Identifier: Apache-2.0
#include "tools/casync/profile/codec_points.h"

#include <algorithm>
#include <utility>

#include "tools/casync/profile/fit.h"

namespace casync::tools {
namespace {

constexpr double kNear = 0.02;

}  // namespace

Curve fitted(MeasuredProfile& made, const std::string& what, std::vector<Curve::Point> points, std::size_t most) {
  const Fit fit = fit_curve(points, most, kNear);
  made.raw.push_back({what, std::move(points), fit.worst, fit.mean});
  return fit.curve;
}

void add_codec(MeasuredProfile& made, const std::string& name, CodecPoints points) {
  CodecCurves& curves = made.profile.codecs[name];
  if (!points.encode.empty()) {
    curves.encode = fitted(made, name + " encode", std::move(points.encode));
    curves.decode = fitted(made, name + " decode", std::move(points.decode));
  }
  std::vector<Curve::Point> merge, merge_base;
  for (std::size_t i = 0; i < points.few.size(); ++i) {
    const double few = points.few[i].seconds, many = points.many[i].seconds;
    const double each = std::clamp((many - few) / (kManyMerged - kFewMerged), 0.0, few / kFewMerged);
    merge.push_back({points.few[i].size, each});
    merge_base.push_back({points.few[i].size, few - kFewMerged * each});
  }
  curves.merge = fitted(made, name + " merge, each code", std::move(merge));
  curves.merge_base = fitted(made, name + " merge, own elements and the sum", std::move(merge_base));
}

}  // namespace casync::tools
