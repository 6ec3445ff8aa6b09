// SPDX-License-Identifier: Apache-2.0
#include "tools/casync/codec/check/other_values.h"

#include <algorithm>
#include <cmath>
#include <sstream>

namespace casync::tools {
namespace {

constexpr double kNoEnd = 1e30;
constexpr std::size_t kMostValues = 4;

/// The nearest value that the parameter allows.
double allowed_near(const compll::ProgramParameter& parameter, double value) {
  const double step = parameter.step != 0 ? parameter.step : parameter.type.is_float() ? 0 : 1;
  if (step == 0) return value;
  return parameter.least + std::floor((value - parameter.least) / step) * step;
}

}  // namespace

bool has_range(const compll::ProgramParameter& parameter) {
  if (!parameter.choices.empty()) return true;
  if (parameter.type.is_float()) return std::fabs(parameter.least) < kNoEnd && std::fabs(parameter.most) < kNoEnd;
  return parameter.least > static_cast<double>(least_of(parameter.type)) ||
         parameter.most < static_cast<double>(most_of(parameter.type));
}

std::vector<double> other_values(const compll::ProgramParameter& parameter, double value) {
  std::vector<double> wanted = parameter.choices;
  if (wanted.empty() && has_range(parameter)) {
    const double least = parameter.least, most = parameter.most;
    // The middle of a positive range is the geometric mean, as it may span powers of ten; 48 is no power of two.
    const double middle = least > 0 ? std::sqrt(least) * std::sqrt(most) : (least + most) / 2;
    wanted = {least, middle, most};
    if (parameter.type.is_integer())
      wanted = {least, allowed_near(parameter, 48), allowed_near(parameter, middle), most};
  } else if (wanted.empty()) {
    wanted = {value / 2, value * 2};
  }
  std::vector<double> others;
  for (const double each : wanted) {
    const bool known = each == value || std::find(others.begin(), others.end(), each) != others.end();
    if (!known && parameter.allows(each) && others.size() < kMostValues) others.push_back(each);
  }
  return others;
}

std::vector<ParameterValues> other_parameters(const compll::Program& program, const ParameterValues& given) {
  std::vector<ParameterValues> all;
  for (const compll::ProgramParameter& parameter : program.parameters) {
    const auto named = [&](const auto& each) { return each.first == parameter.name; };
    const auto found = std::find_if(given.begin(), given.end(), named);
    ParameterValues others = given;
    std::erase_if(others, named);
    for (const double value : other_values(parameter, found == given.end() ? parameter.initial : found->second)) {
      all.push_back(others);
      all.back().emplace_back(parameter.name, value);
    }
  }
  return all;
}

std::string difference_in_words(const ParameterValues& given, const ParameterValues& other) {
  std::ostringstream text;
  for (const auto& each : other) {
    if (std::find(given.begin(), given.end(), each) != given.end()) continue;
    text << (text.tellp() == 0 ? "" : ", ") << each.first << '=' << each.second;
  }
  return text.str();
}

}  // namespace casync::tools
