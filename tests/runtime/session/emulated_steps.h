// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <barrier>
#include <catch2/catch.hpp>
#include <functional>
#include <map>
#include <string>
#include <type_traits>
#include <vector>

#include "tests/compll/cuda/emulated/driver.h"
#include "tests/runtime/session/gpu.h"
#include "tests/runtime/session/gradients.h"
#include "tests/runtime/session/plan_file.h"
#include "tests/support/ranks.h"

/// Steps on an emulated GPU: the calls that they make of its driver, and what they say when it fails.
namespace casync::test {

inline constexpr const char* kForbidden[] = {"cuMemAlloc_v2",      "cuMemFree_v2",        "cuMemHostAlloc",
                                             "cuMemFreeHost",      "cuModuleLoadData",    "cuModuleUnload",
                                             "cuEventCreate",      "cuEventDestroy_v2",   "cuStreamCreateWithPriority",
                                             "cuStreamDestroy_v2", "cuStreamSynchronize", "pageable copy"};

using CallCounts = std::map<std::string, std::uint64_t>;

/// The calls so far that a steady step may not make.
inline CallCounts forbidden_calls() {
  CallCounts all;
  for (const char* name : kForbidden) all[name] = compll::emulated::calls(name);
  return all;
}

/// Steps of gradients of one type, which are the same in each step but for their values.
struct SteadySteps {
  std::vector<std::vector<std::int64_t>> shapes;
  DType dtype = DType::kFloat32;
  std::uint32_t steps = 10, counted_from = 4;
};

/// Runs them; `before` and `after` are what count() returns ahead of step `counted_from` and at the end.
template <class Count, class Counts = std::invoke_result_t<Count>>
std::string counted_steps(int ranks, const std::function<void(SessionOptions&)>& configure, const SteadySteps& wanted,
                          const Count& count, Counts& before, Counts& after) {
  std::barrier meet(ranks);
  return with_sessions(ranks, configure, [&](Session& session, RankContext& context) -> std::string {
    Program program;
    std::vector<GradientId> ids;
    std::vector<Program::Floats> floats;
    for (const std::vector<std::int64_t>& shape : wanted.shapes) {
      const GradientSpec spec{"g" + std::to_string(ids.size()), wanted.dtype, shape, 0};
      ids.push_back(*session.declare(spec));
      floats.push_back(program.floats(spec.elements(), wanted.dtype));
    }
    std::string bad;
    for (std::uint32_t step = 0; step < wanted.steps; ++step) {
      meet.arrive_and_wait();
      if (step == wanted.counted_from && context.rank == 0) before = count();
      meet.arrive_and_wait();
      static_cast<void>(session.exchanged());
      std::vector<Submission> all;
      for (std::size_t i = 0; i < ids.size(); ++i) {
        program.write(floats[i], contribution(context.rank, floats[i].count, step));
        all.push_back(program.submission(ids[i], floats[i]));
      }
      const auto handles = session.submit(all);
      Status status = handles ? session.wait(handles->front(), -1) : handles.status();
      if (status) status = session.step().status();
      if (bad.empty() && !status) bad = status.text();
    }
    meet.arrive_and_wait();
    if (context.rank == 0) after = count();
    meet.arrive_and_wait();
    return bad;
  });
}

/// Steps of two ranks; in this one rank 0's device fails after so many kernels. What the ranks say.
inline std::string steps_with_fault(const std::function<void(SessionOptions&)>& configure, std::uint32_t failing,
                                    int kernels) {
  compll::emulated::mend_device();
  std::string complaints = with_sessions(2, configure, [&](Session& session, RankContext& context) -> std::string {
    Program program;
    const Result<GradientId> id = declare(session, "layer", 5000);
    auto floats = program.floats(5000);
    for (std::uint32_t step = 0; step < failing + 4; ++step) {
      static_cast<void>(session.exchanged());
      program.write(floats, contribution(context.rank, 5000, step));
      const Submission one = program.submission(*id, floats);
      if (step == failing && context.rank == 0) compll::emulated::break_after_kernels(kernels);
      const auto handles = session.submit({&one, 1});
      const Status status = handles ? session.step().status() : handles.status();
      if (!status) return status.text();
    }
    return "it went well";
  });
  compll::emulated::mend_device();
  return complaints;
}

}  // namespace casync::test
