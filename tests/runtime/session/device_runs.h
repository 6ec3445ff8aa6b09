// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tests/runtime/session/gpu.h"
#include "tests/runtime/session/gradients.h"
#include "tests/support/ranks.h"

namespace casync::test {

// One that is cut into partitions, a matrix; one of a single block; one element.
inline constexpr std::size_t kSizes[] = {3 * 1040, 129, 1};

inline std::vector<std::int64_t> shape_of(std::size_t size) {
  const auto elements = static_cast<std::int64_t>(size);
  if (size >= kSizes[0] && size % 52 == 0) return {elements / 52, 52};
  return {elements};
}
inline constexpr std::uint32_t kSteps = 3;

/// A rank's view: of each step each gradient and what the step said, and its states at the end.
struct Seen {
  std::vector<std::vector<float>> gradients;
  std::vector<std::string> steps;
  std::map<std::string, std::vector<float>> states;
  bool operator==(const Seen&) const = default;
};
using AllSeen = std::vector<Seen>;

/// The place of gradients on devices.
struct DevicePlaces {
  std::size_t ahead = 0;  ///< elements in front of each gradient, which nobody may change
  int devices = 1;        ///< ranks take them by turns

  std::string device_of(Rank rank) const { return "cuda:" + std::to_string(rank % devices); }
};

/// Gradients of a rank, in host memory or on the device.
class Gradients {
 public:
  Gradients(Session& session, bool on_device, DType dtype = DType::kFloat32, bool scattered = false,
            const DevicePlaces& places = {})
      : session_(session), on_device_(on_device), dtype_(dtype), scattered_(scattered), ahead_(places.ahead, 7.0f) {
    if (on_device) program_ = std::make_unique<Program>(places.device_of(session.rank()));
  }
  Status declare_all(std::span<const std::size_t> sizes = kSizes) {
    for (const std::size_t size : sizes) {
      const std::string name = "g" + std::to_string(ids_.size());
      GradientSpec spec{name, dtype_, shape_of(size), 0};
      spec.scattered = scattered_;
      const Result<GradientId> id = session_.declare(spec);
      if (!id) return id.status();
      ids_.push_back(*id);
      if (on_device_) floats_.push_back(program_->floats(ahead_.size() + size, dtype_));
      elements_.emplace_back(on_device_ ? 0 : size * bytes_of(dtype_));
    }
    return Status::ok();
  }
  /// One step over these values, which become the results.
  Result<StepResult> step(std::vector<std::vector<float>>& values) {
    std::vector<Submission> all;
    for (std::size_t i = 0; i < ids_.size(); ++i) {
      if (on_device_) {
        all.push_back(written(i, values[i]));
      } else {
        convert(values[i], dtype_, elements_[i].data());
        all.push_back({ids_[i], {elements_[i].data(), elements_[i].size()}});
      }
    }
    const Result<std::vector<Handle>> handles = session_.submit(all);
    if (!handles) return handles.status();
    Result<StepResult> done = session_.step();
    for (std::size_t i = 0; i < ids_.size(); ++i) {
      if (!on_device_) {
        values[i] = converted(elements_[i].data(), values[i].size(), dtype_);
      } else if (!read(i, values[i])) {
        return internal_error("what lies in front of gradient " + std::to_string(i) + " has changed");
      }
    }
    return done;
  }

 private:
  Submission written(std::size_t i, const std::vector<float>& values) {
    std::vector<float> all = ahead_;
    all.insert(all.end(), values.begin(), values.end());
    program_->write(floats_[i], all);
    Submission one = program_->submission(ids_[i], floats_[i]);
    const Bytes ahead = ahead_.size() * bytes_of(dtype_);
    one.device_data = one.device_data.slice(ahead, one.device_data.size() - ahead);
    return one;
  }
  bool read(std::size_t i, std::vector<float>& values) {
    const std::vector<float> all = program_->read(floats_[i]);
    const auto begin = all.begin() + static_cast<std::ptrdiff_t>(ahead_.size());
    values.assign(begin, all.end());
    return std::equal(all.begin(), begin, ahead_.begin());
  }

  Session& session_;
  const bool on_device_;
  const DType dtype_;
  const bool scattered_;
  const std::vector<float> ahead_;
  std::unique_ptr<Program> program_;
  std::vector<GradientId> ids_;
  std::vector<Program::Floats> floats_;           // on the device
  std::vector<std::vector<std::byte>> elements_;  // in host memory
};

using Values = std::function<std::vector<std::vector<float>>(int rank, std::uint32_t step)>;

inline std::vector<std::vector<float>> gaussians(int rank, std::uint32_t step) {
  std::vector<std::vector<float>> values;
  for (const std::size_t size : kSizes) values.push_back(contribution(rank, size, 7 * step + 1));
  return values;
}

/// The same of sizes of which the first takes more than kAlwaysTwoBuffers.
inline std::vector<std::vector<float>> large_gaussians(int rank, std::uint32_t step) {
  std::vector<std::vector<float>> values;
  for (const std::size_t size : {std::size_t{100 * 52}, kSizes[1], kSizes[2]}) {
    values.push_back(contribution(rank, size, 7 * step + 1));
  }
  return values;
}

/// The same with values that are hard for half precision.
inline std::vector<std::vector<float>> awkward_for_halves(int rank, std::uint32_t step) {
  std::vector<std::vector<float>> all = gaussians(rank, step);
  all[1][3] = 1e-7f;  // denormal as float16
  all[1][4] = 6e4f;   // near to its largest
  all[0][7] = -0.0f;
  return all;
}

/// The same where the sum of two ranks' first gradients is infinite as float16 in step 1.
inline std::vector<std::vector<float>> too_large_for_float16(int rank, std::uint32_t step) {
  std::vector<std::vector<float>> all = gaussians(rank, step);
  if (step == 1) std::fill(all[0].begin(), all[0].end(), 4e4f);
  return all;
}

/// Sessions of these ranks on the host or on the device; "" or what went wrong.
inline std::string run_steps(int ranks, bool on_device, const std::function<void(SessionOptions&)>& configure,
                             AllSeen& seen, const Values& values = gaussians, const std::string& transport = "loopback",
                             DType dtype = DType::kFloat32, bool scattered = false, const DevicePlaces& places = {}) {
  seen.assign(static_cast<std::size_t>(ranks), {});
  const auto configure_all = [&](SessionOptions& options) {
    configure(options);
    if (!on_device) return;
    on_gpu(options);
    options.device = places.device_of(*options.launch.rank);
  };
  const auto body = [&](Session& session, RankContext& context) -> std::string {
    Seen& here = seen[static_cast<std::size_t>(context.rank)];
    Gradients gradients(session, on_device, dtype, scattered, places);
    std::vector<std::size_t> sizes;
    for (const std::vector<float>& one : values(context.rank, 0)) sizes.push_back(one.size());
    if (Status status = gradients.declare_all(sizes); !status) return status.text();
    for (std::uint32_t step = 0; step < kSteps; ++step) {
      std::vector<std::vector<float>> all = values(context.rank, step);
      const Result<StepResult> done = gradients.step(all);
      if (!done) return done.status().text();
      here.steps.push_back(std::to_string(done->finite) + done->first_non_finite);
      for (auto& one : all) here.gradients.push_back(std::move(one));
    }
    const Result<SessionState> state = session.state();
    if (!state) return state.status().text();
    for (const auto& [name, one] : state->gradients) here.states[name] = one.residual;
    return "";
  };
  return with_sessions(ranks, configure_all, body, transport);
}

inline bool same_floats(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
}

/// The first difference, "" if there is none.
inline std::string difference(const AllSeen& host, const AllSeen& device) {
  for (std::size_t rank = 0; rank < host.size(); ++rank) {
    const std::string on = "rank " + std::to_string(rank) + ": ";
    if (host[rank].steps != device[rank].steps) return on + "what steps say";
    for (std::size_t i = 0; i < host[rank].gradients.size(); ++i) {
      if (same_floats(host[rank].gradients[i], device[rank].gradients[i])) continue;
      return on + "step " + std::to_string(i / std::size(kSizes)) + ", gradient " +
             std::to_string(i % std::size(kSizes));
    }
    for (const auto& [name, state] : host[rank].states) {
      if (!same_floats(state, device[rank].states.at(name))) return on + "the state of " + name;
    }
  }
  return "";
}

}  // namespace casync::test
