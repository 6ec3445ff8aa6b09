// SPDX-License-Identifier: Apache-2.0
#include "tests/support/meanings.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

namespace casync::test {
namespace {

template <class T>
Code bytes_of(const std::vector<T>& values) {
  Code code(values.size() * sizeof(T));
  if (!code.empty()) std::memcpy(code.data(), values.data(), code.size());
  return code;
}

/// Takes memory once for all contributions of a merge.
void read_floats(const Code& code, std::vector<float>& values) {
  values.resize(code.size() / sizeof(float));
  if (!code.empty()) std::memcpy(values.data(), code.data(), code.size());
}

/// The code that is a number.
Code code_of_number(std::uint32_t number) {
  Code code(sizeof number);
  std::memcpy(code.data(), &number, sizeof number);
  return code;
}

std::uint32_t number_of(const Code& code) {
  std::uint32_t number = 0;
  std::memcpy(&number, code.data(), sizeof number);
  return number;
}

void put_floats(const Code& code, float* to) {
  if (!code.empty()) std::memcpy(to, code.data(), code.size());
}

std::string place(std::size_t rank, std::size_t element) {
  return "rank " + std::to_string(rank) + ", element " + std::to_string(element) + ": ";
}

}  // namespace

Contributions::Contributions(int ranks, Elements elements)
    : ranks_(static_cast<std::size_t>(ranks)), gradients_(ranks_, std::vector<Element>(elements)) {}

Code Contributions::code_of(Set set) {
  encodings_.push_back(std::move(set));
  return code_of_number(static_cast<std::uint32_t>(encodings_.size() - 1));
}

Code Contributions::encode(Rank rank, const Slice&, Hop) {
  Set own{std::vector<int>(ranks_)};
  own.counts[static_cast<std::size_t>(rank)] = 1;
  return code_of(std::move(own));
}

// The same codes added in the same order have the same sum. This rank's own elements differ from all others'.
Code Contributions::sum_of(Rank rank, const Merge& merge, std::span<const Code* const> codes, Set set) {
  std::vector<std::int64_t> added{merge.last};
  for (const Code* code : codes) added.push_back(code ? number_of(*code) : -1 - rank);
  const auto known = sums_.find(added);
  if (known != sums_.end()) return code_of_number(known->second);
  Code code = code_of(std::move(set));
  sums_.emplace(std::move(added), number_of(code));
  return code;
}

Code Contributions::merge(Rank rank, const Merge& merge, std::span<const Code* const> codes, Hop to) {
  Set sum{std::vector<int>(ranks_), merge.last ? 1 : 0};
  for (const Code* code : codes) {
    if (!code) {
      ++sum.counts[static_cast<std::size_t>(rank)];
      continue;
    }
    const Set& part = encodings_[number_of(*code)];
    for (std::size_t r = 0; r < ranks_; ++r) sum.counts[r] += part.counts[r];
    sum.scaled += part.scaled;
  }
  const bool codec_remembers = to == Hop::kFirst || to == Hop::kSecond;
  return codec_remembers ? code_of(std::move(sum)) : sum_of(rank, merge, codes, std::move(sum));
}

void Contributions::decode(Rank rank, const Code& code, const Slice& to, Hop) {
  const std::uint32_t encoding = number_of(code);
  for (Elements e = to.first; e < to.first + to.count; ++e) {
    Element& element = gradients_[static_cast<std::size_t>(rank)][e];
    element.encoding = encoding;
    ++element.decodes;
  }
}

std::string Contributions::fault_of(const Set& set, std::span<const Rank> silent) const {
  if (set.scaled != 1) return "scaled " + std::to_string(set.scaled) + " times";
  for (std::size_t r = 0; r < ranks_; ++r) {
    const bool is_silent = std::find(silent.begin(), silent.end(), static_cast<Rank>(r)) != silent.end();
    if (set.counts[r] == (is_silent ? 0 : 1)) continue;
    return "holds rank " + std::to_string(r) + " " + std::to_string(set.counts[r]) + " times";
  }
  return "";
}

Status Contributions::complete(std::span<const Rank> silent) const {
  std::optional<std::uint32_t> faultless;  // neighbours mostly have the same encoding
  for (std::size_t r = 0; r < ranks_; ++r) {
    for (std::size_t e = 0; e < gradients_[r].size(); ++e) {
      const Element& element = gradients_[r][e];
      if (element.decodes != 1) return internal_error(place(r, e) + std::to_string(element.decodes) + " decodes");
      if (element.encoding != gradients_[0][e].encoding) return internal_error(place(r, e) + "not what rank 0 has");
      if (element.encoding == faultless) continue;
      const std::string fault = fault_of(encodings_[element.encoding], silent);
      if (!fault.empty()) return internal_error(place(r, e) + fault);
      faultless = element.encoding;
    }
  }
  return Status::ok();
}

Floats::Floats(std::vector<std::vector<float>> gradients, float first_grain, float second_grain, float scale)
    : gradients_(std::move(gradients)), first_grain_(first_grain), second_grain_(second_grain), scale_(scale) {
  for (const std::vector<float>& gradient : gradients_) residuals_.emplace_back(gradient.size(), 0.0F);
}

Code Floats::code_of(Rank rank, const Slice& slice, std::vector<float> values, Hop hop) {
  const float step = grain(hop);
  if (step == 0) return bytes_of(values);
  float* residual = residuals_[static_cast<std::size_t>(rank)].data() + slice.first;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const float wanted = values[i] + residual[i];
    values[i] = std::nearbyint(wanted / step) * step;
    residual[i] = wanted - values[i];
  }
  return bytes_of(values);
}

Code Floats::encode(Rank rank, const Slice& from, Hop hop) {
  const float* own = gradients_[static_cast<std::size_t>(rank)].data() + from.first;
  return code_of(rank, from, std::vector<float>(own, own + from.count), hop);
}

Code Floats::merge(Rank rank, const Merge& merge, std::span<const Code* const> codes, Hop to) {
  std::vector<float> sum(merge.local.count), part;
  for (const Code* code : codes) {
    if (code) read_floats(*code, part);
    const float* terms = code ? part.data() : gradients_[static_cast<std::size_t>(rank)].data() + merge.local.first;
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += terms[i];
  }
  if (merge.last) {
    for (float& value : sum) value *= scale_;
  }
  return code_of(rank, merge.local, std::move(sum), to);
}

namespace {

Code signs_of(std::vector<float> values, Hop hop) {
  if (hop == Hop::kFirst || hop == Hop::kSecond) {
    for (float& value : values) value = value < 0 ? -1.0F : 1.0F;
  }
  return bytes_of(values);
}

}  // namespace

Code Votes::encode(Rank rank, const Slice& from, Hop hop) {
  const float* own = gradients_[static_cast<std::size_t>(rank)].data() + from.first;
  return signs_of({own, own + from.count}, hop);
}

Code Votes::merge(Rank rank, const Merge& merge, std::span<const Code* const> codes, Hop to) {
  std::vector<float> sum(merge.local.count), part;
  for (const Code* code : codes) {
    if (code) read_floats(*code, part);
    const float* terms = code ? part.data() : gradients_[static_cast<std::size_t>(rank)].data() + merge.local.first;
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += terms[i];
  }
  return signs_of(std::move(sum), to);
}

void Votes::decode(Rank rank, const Code& code, const Slice& to, Hop) {
  put_floats(code, gradients_[static_cast<std::size_t>(rank)].data() + to.first);
}

void Floats::decode(Rank rank, const Code& code, const Slice& to, Hop) {
  put_floats(code, gradients_[static_cast<std::size_t>(rank)].data() + to.first);
}

}  // namespace casync::test
