// SPDX-License-Identifier: Apache-2.0
#include "tools/casync/profile/tiny_steps.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstring>
#include <fstream>
#include <memory>
#include <utility>

#include "base/clock.h"
#include "runtime/session/session.h"
#include "tools/casync/private_directory.h"

namespace casync::tools {
namespace {

constexpr int kCounts[] = {16, 64, 256, 1024};  // gradients in a step
constexpr std::int64_t kElements = 64;          // of each
constexpr int kWarmUp = 3;
constexpr int kLeastSteps = 10;
constexpr double kChildPatience = 30;  // for the other process

/// One rank's session, with the gradients of each step.
class Steps {
 public:
  Steps(runtime::Session& session, double seconds) : session_(session), seconds_(seconds) {}

  Result<std::vector<TinyStep>> measure() {
    std::vector<TinyStep> made;
    for (const int count : kCounts) {
      CASYNC_RETURN_IF_ERROR(declare(count));
      const Result<TinyStep> step = of(static_cast<std::size_t>(count));
      if (!step) return step.status();
      made.push_back(*step);
    }
    return made;
  }

 private:
  /// Declares gradients of their own for steps of `count`: a bundle travels if all of it is submitted.
  Status declare(int count) {
    all_.clear();
    values_.assign(static_cast<std::size_t>(count * kElements), 0.0f);
    for (std::size_t at = 0; at < values_.size(); at += kElements) {
      const std::string name = "tiny" + std::to_string(count) + "." + std::to_string(at);
      const auto id = session_.declare({name, DType::kFloat32, {kElements}, 0});
      CASYNC_RETURN_IF_ERROR(id.status());
      all_.push_back({*id, {reinterpret_cast<std::byte*>(values_.data() + at), kElements * sizeof(float)}});
    }
    handles_.resize(all_.size());
    return Status::ok();
  }

  Result<TinyStep> of(std::size_t gradients) {
    for (int i = 0; i < kWarmUp; ++i) CASYNC_RETURN_IF_ERROR(step(gradients).status());
    const Result<double> trial = step(gradients);
    CASYNC_RETURN_IF_ERROR(trial.status());
    const Result<int> steps = agreed(std::clamp(seconds_ / *trial, 1.0 * kLeastSteps, 1e4));
    CASYNC_RETURN_IF_ERROR(steps.status());
    const runtime::SessionStats before = session_.stats();
    TinyStep made{static_cast<double>(gradients), 0, 0, *trial};
    for (int i = 0; i < *steps; ++i) {
      const Result<double> one = step(gradients);
      CASYNC_RETURN_IF_ERROR(one.status());
      made.seconds = std::min(made.seconds, *one);
    }
    const runtime::SessionStats after = session_.stats();
    made.tasks = static_cast<double>(after.tasks - before.tasks) / *steps;
    made.messages = static_cast<double>(after.messages_sent - before.messages_sent) / *steps;
    return made;
  }

  Result<double> step(std::size_t gradients) {
    const Clock::time_point begin = Clock::now();
    CASYNC_RETURN_IF_ERROR(session_.submit({all_.data(), gradients}, {handles_.data(), gradients}));
    CASYNC_RETURN_IF_ERROR(session_.step().status());
    return std::chrono::duration<double>(Clock::now() - begin).count();
  }

  /// Rank 0's word: the mean of it and of zero, twice.
  Result<int> agreed(double wanted) {
    std::fill(values_.begin(), values_.end(), 0.0f);
    if (session_.rank() == 0) values_[0] = static_cast<float>(std::floor(wanted));
    CASYNC_RETURN_IF_ERROR(step(1).status());
    return static_cast<int>(2 * values_[0]);
  }

  runtime::Session& session_;
  double seconds_;
  std::vector<float> values_;
  std::vector<runtime::Submission> all_;
  std::vector<runtime::Handle> handles_;
};

/// One rank's process, with a session for each way of travelling.
class Side {
 public:
  Side(const TinyStepOptions& options, std::string folder) : options_(options), folder_(std::move(folder)) {}

  Result<TinySteps> run(Rank rank) {
    TinySteps made;
    CASYNC_RETURN_IF_ERROR(run(rank, "", made.bundled));
    CASYNC_RETURN_IF_ERROR(run(rank, folder_ + "/fused.txtpb", made.fused));
    CASYNC_RETURN_IF_ERROR(run(rank, folder_ + "/single.txtpb", made.single));
    return made;
  }

 private:
  Status run(Rank rank, const std::string& plan_file, std::vector<TinyStep>& made) {
    runtime::SessionOptions wanted;
    wanted.launch.rank = rank;
    wanted.launch.ranks = 2;
    wanted.launch.rendezvous = "file:" + folder_;
    wanted.plan_file = plan_file;
    wanted.transport = options_.transport;
    wanted.timeout_s = kChildPatience;
    const Result<std::unique_ptr<runtime::Session>> session = runtime::Session::open(wanted);
    CASYNC_RETURN_IF_ERROR(session.status());
    Result<std::vector<TinyStep>> steps = Steps(**session, options_.seconds).measure();
    CASYNC_RETURN_IF_ERROR(steps.status());
    made = std::move(*steps);
    return (*session)->close();
  }

  const TinyStepOptions& options_;
  std::string folder_;
};

}  // namespace

Result<TinySteps> measure_tiny_steps(const TinyStepOptions& options) {
  const Result<PrivateDirectory> folder = PrivateDirectory::make_watched();
  CASYNC_RETURN_IF_ERROR(folder.status());
  for (const auto& [name, text] : {std::pair("fused", "default { partitions: 2 }"), {"single", "fusion_bytes: 0"}}) {
    const std::string path = folder->path() + "/" + name + ".txtpb";
    std::ofstream plan(path);
    plan << "version: 1\n" << text << "\n";
    plan.close();
    if (!plan) return unavailable(path + ": cannot be written: " + std::strerror(errno));
  }
  Side side(options, folder->path());
  const pid_t child = fork();
  if (child < 0) return unavailable(std::string("cannot start another process: ") + std::strerror(errno));
  if (child == 0) _exit(side.run(1) ? 0 : 1);
  Result<TinySteps> made = side.run(0);
  if (!made) ::kill(child, SIGKILL);  // it would wait for this process until its deadline
  waitpid(child, nullptr, 0);         // kChildPatience ends its session's waits
  return made;
}

}  // namespace casync::tools
