// SPDX-License-Identifier: Apache-2.0
#include "tests/support/meanings.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <utility>

namespace casync::test {
namespace {

// A Contributions code: a count per rank, how often it was scaled, the number of the encoding.
struct Set {
  std::vector<std::uint32_t> counts;
  std::uint32_t scaled = 0;
  std::uint32_t encoding = 0;
};

template <class T>
Code bytes_of(const std::vector<T>& values) {
  Code code(values.size() * sizeof(T));
  if (!code.empty()) std::memcpy(code.data(), values.data(), code.size());
  return code;
}

template <class T>
std::vector<T> values_of(const Code& code) {
  std::vector<T> values(code.size() / sizeof(T));
  if (!code.empty()) std::memcpy(values.data(), code.data(), code.size());
  return values;
}

Code pack(Set set) {
  set.counts.push_back(set.scaled);
  set.counts.push_back(set.encoding);
  return bytes_of(set.counts);
}

Set unpack(const Code& code) {
  Set set{values_of<std::uint32_t>(code)};
  set.encoding = set.counts.back();
  set.counts.pop_back();
  set.scaled = set.counts.back();
  set.counts.pop_back();
  return set;
}

std::string place(std::size_t rank, std::size_t element) {
  return "rank " + std::to_string(rank) + ", element " + std::to_string(element) + ": ";
}

}  // namespace

Contributions::Contributions(int ranks, Elements elements)
    : ranks_(ranks), gradients_(static_cast<std::size_t>(ranks), std::vector<Element>(elements)) {}

Code Contributions::encode(Rank rank, const Slice&, Hop) {
  Set set{std::vector<std::uint32_t>(static_cast<std::size_t>(ranks_)), 0, ++encodings_};
  set.counts[static_cast<std::size_t>(rank)] = 1;
  return pack(std::move(set));
}

Code Contributions::merge(Rank rank, const Merge& merge, std::span<const Code* const> codes, Hop) {
  Set sum{std::vector<std::uint32_t>(static_cast<std::size_t>(ranks_)), merge.last ? 1U : 0U, ++encodings_};
  for (const Code* code : codes) {
    if (!code) {
      ++sum.counts[static_cast<std::size_t>(rank)];
      continue;
    }
    const Set part = unpack(*code);
    for (std::size_t r = 0; r < sum.counts.size(); ++r) sum.counts[r] += part.counts[r];
    sum.scaled += part.scaled;
  }
  return pack(std::move(sum));
}

void Contributions::decode(Rank rank, const Code& code, const Slice& to, Hop) {
  for (Elements e = to.first; e < to.first + to.count; ++e) {
    Element& element = gradients_[static_cast<std::size_t>(rank)][e];
    element.code = code;
    ++element.decodes;
  }
}

Status Contributions::complete() const {
  for (std::size_t r = 0; r < gradients_.size(); ++r) {
    for (std::size_t e = 0; e < gradients_[r].size(); ++e) {
      const Element& element = gradients_[r][e];
      if (element.decodes != 1) return internal_error(place(r, e) + std::to_string(element.decodes) + " decodes");
      if (element.code != gradients_[0][e].code) return internal_error(place(r, e) + "not what rank 0 has");
      const Set set = unpack(element.code);
      if (set.scaled != 1) return internal_error(place(r, e) + "scaled " + std::to_string(set.scaled) + " times");
      for (std::size_t from = 0; from < set.counts.size(); ++from) {
        if (set.counts[from] == 1) continue;
        return internal_error(place(r, e) + "holds rank " + std::to_string(from) + " " +
                              std::to_string(set.counts[from]) + " times");
      }
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
  std::vector<float> sum(merge.local.count);
  for (const Code* code : codes) {
    const float* own = gradients_[static_cast<std::size_t>(rank)].data() + merge.local.first;
    const std::vector<float> part = code ? values_of<float>(*code) : std::vector<float>(own, own + merge.local.count);
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += part[i];
  }
  for (float& value : sum) value *= merge.last ? scale_ : 1.0F;
  return code_of(rank, merge.local, std::move(sum), to);
}

void Floats::decode(Rank rank, const Code& code, const Slice& to, Hop) {
  const std::vector<float> values = values_of<float>(code);
  std::copy(values.begin(), values.end(),
            gradients_[static_cast<std::size_t>(rank)].begin() + static_cast<std::ptrdiff_t>(to.first));
}

}  // namespace casync::test
