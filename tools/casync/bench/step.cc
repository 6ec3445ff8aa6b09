// SPDX-License-Identifier: Apache-2.0
#include "tools/casync/bench/step.h"

#include <sys/prctl.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <thread>

#include "base/clock.h"
#include "base/median.h"
#include "casync/planner/plan_file.h"
#include "runtime/session/session.h"
#include "tools/casync/bench/gradient_memory.h"
#include "tools/casync/input_files.h"
#include "tools/casync/scenario/scenario.h"
#include "tools/casync/this_machine.h"

namespace casync::tools {
namespace {

using runtime::Session;

constexpr int kLeastSteps = 5, kMostRounds = 30, kBarriers = 21;
constexpr const char* kBarrier = "casync.bench.barrier";

double processor_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) { return double(time.tv_sec) + double(time.tv_usec) * 1e-6; };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

/// The measurements of one plan.
struct StepRow {
  std::vector<double> seconds;  ///< of a step, or of one of `every` in the mean
  int every = 1;
  runtime::SessionStats before, after;
  double processor_s = 0;  ///< of this process, in a step
};

/// One rank's training with one plan.
class Trainer {
 public:
  Trainer(Session& session, const Training& training, GradientMemory& memory)
      : session_(session), training_(training), memory_(memory) {
    by_ready_ = sorted([&](std::size_t i) { return training.gradients[i].ready_s; });
    by_need_ = sorted([&](std::size_t i) { return training.gradients[i].need_s; });
    handles_.resize(training.gradients.size());
  }

  Result<StepRow> measure(const StepBenchOptions& options, const SyncMode& mode) {
    for (const TrainedGradient& gradient : training_.gradients) {
      Result<runtime::GradientId> id = session_.declare(gradient.spec);
      CASYNC_RETURN_IF_ERROR(id.status());
      ids_.push_back(*id);
    }
    if (mode.is_asynchronous()) return measure_asynchronous(options);
    return mode == SyncMode{} ? measure_steps(options) : measure_rounds(options, mode);
  }

 private:
  /// Each step by itself, between barriers.
  Result<StepRow> measure_steps(const StepBenchOptions& options) {
    Result<runtime::GradientId> id = session_.declare({kBarrier, DType::kFloat32, {1}, 0});
    CASYNC_RETURN_IF_ERROR(id.status());
    barrier_ = *id;
    for (int i = 0; i < options.warm_up; ++i) CASYNC_RETURN_IF_ERROR(step(nullptr));
    for (int i = 0; i < kBarriers; ++i) CASYNC_RETURN_IF_ERROR(barrier());
    const Result<int> steps = count(options);
    CASYNC_RETURN_IF_ERROR(steps.status());
    StepRow row;
    row.before = session_.stats();
    for (int i = 0; i < *steps; ++i) CASYNC_RETURN_IF_ERROR(step(&row));
    row.after = session_.stats();
    row.processor_s /= *steps;
    for (double& each : row.seconds) each = std::max(0.0, each - barrier_s_);
    return row;
  }

  /// Steps of a rank that others need not wait for, one after the other, for the same time on all ranks.
  Result<StepRow> measure_asynchronous(const StepBenchOptions& options) {
    for (int i = 0; i < options.warm_up; ++i) CASYNC_RETURN_IF_ERROR(own_step());
    StepRow row;
    row.before = session_.stats();
    const double processor = processor_seconds();
    const Clock::time_point begin = Clock::now();
    while (row.seconds.size() < kLeastSteps || seconds_since(begin) < options.seconds) {
      const Clock::time_point from = Clock::now();
      CASYNC_RETURN_IF_ERROR(own_step());
      row.seconds.push_back(seconds_since(from));
    }
    row.after = session_.stats();
    row.processor_s = (processor_seconds() - processor) / static_cast<double>(row.seconds.size());
    return row;
  }

  Status own_step() {
    draw_factor();
    const Clock::time_point begin = Clock::now();
    memory_.fill();
    CASYNC_RETURN_IF_ERROR(backward(begin));
    CASYNC_RETURN_IF_ERROR(forward(begin));
    return session_.step().status();
  }

  /// Rounds of steps, one after the other: an exchange goes on in the step after it, or most steps have none.
  Result<StepRow> measure_rounds(const StepBenchOptions& options, const SyncMode& mode) {
    const int every = static_cast<int>(std::max(1u, mode.every));
    const double alone_s = every * (training_.backward_s + training_.forward_s);
    const int rounds = static_cast<int>(std::clamp(options.seconds / alone_s, 1.0 * kLeastSteps, 1.0 * kMostRounds));
    for (std::uint32_t i = 0; i < mode.from_step; ++i) CASYNC_RETURN_IF_ERROR(step_of_round());
    for (int i = 0; i < options.warm_up * every; ++i) CASYNC_RETURN_IF_ERROR(step_of_round());
    StepRow row;
    row.before = session_.stats();
    const double processor = processor_seconds();
    for (int i = 0; i < rounds; ++i) {
      const Clock::time_point begin = Clock::now();
      for (int j = 0; j < every; ++j) CASYNC_RETURN_IF_ERROR(step_of_round());
      row.seconds.push_back(seconds_since(begin) / every);
    }
    row.after = session_.stats();
    row.every = every;
    row.processor_s = (processor_seconds() - processor) / (rounds * every);
    return row;
  }

  Status step_of_round() {
    draw_factor();
    const Clock::time_point begin = Clock::now();
    memory_.fill();
    const Exchanged exchanged = session_.exchanged();
    if (exchanged == Exchanged::kGradients) {
      CASYNC_RETURN_IF_ERROR(backward(begin));
    } else {
      pause_until(begin, factor_ * training_.backward_s);
    }
    if (exchanged == Exchanged::kDifferences || exchanged == Exchanged::kParameters) {
      for (std::size_t i = 0; i < ids_.size(); ++i) CASYNC_RETURN_IF_ERROR(submit(i));
    }
    CASYNC_RETURN_IF_ERROR(session_.step().status());
    pause_until(begin, seconds_since(begin) + factor_ * training_.forward_s);
    return Status::ok();
  }

  Status submit(std::size_t i) {
    const runtime::Submission submission{ids_[i], memory_.view(i)};
    return session_.submit({&submission, 1}, {&handles_[i], 1});
  }

  template <class Key>
  std::vector<std::size_t> sorted(Key key) const {
    std::vector<std::size_t> order(training_.gradients.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return key(a) < key(b); });
    return order;
  }

  /// The number of steps that fit in the time, by rank 0's clock: others learn it as the sum of one number and zeros.
  Result<int> count(const StepBenchOptions& options) {
    StepRow trial;
    CASYNC_RETURN_IF_ERROR(step(&trial));
    const double fit = std::clamp(options.seconds / trial.seconds.front(), 1.0 * kLeastSteps, 1e5);
    value_ = session_.rank() == 0 ? static_cast<float>(std::floor(fit)) : 0;
    CASYNC_RETURN_IF_ERROR(exchange_value());
    // A plan may make another number of it, but the same on all ranks.
    const double steps = std::round(static_cast<double>(value_) * session_.ranks());
    return static_cast<int>(std::clamp(steps, 1.0 * kLeastSteps, 1e5));
  }

  Status exchange_value() {
    const runtime::Submission submission{barrier_, {reinterpret_cast<std::byte*>(&value_), sizeof value_}};
    CASYNC_RETURN_IF_ERROR(session_.submit({&submission, 1}).status());
    return session_.step().status();
  }

  /// Notes the least time of all barriers: those of a busy moment say nothing of the others.
  Status barrier() {
    value_ = 0;
    const Clock::time_point begin = Clock::now();
    CASYNC_RETURN_IF_ERROR(exchange_value());
    barrier_s_ = std::min(barrier_s_, seconds_since(begin));
    return Status::ok();
  }

  /// Its seconds have a barrier among them.
  Status step(StepRow* row) {
    draw_factor();
    memory_.fill();
    CASYNC_RETURN_IF_ERROR(barrier());
    const double processor = processor_seconds();
    const Clock::time_point begin = Clock::now();
    CASYNC_RETURN_IF_ERROR(backward(begin));
    CASYNC_RETURN_IF_ERROR(forward(begin));
    CASYNC_RETURN_IF_ERROR(session_.step().status());
    const double spent = processor_seconds() - processor;
    CASYNC_RETURN_IF_ERROR(barrier());
    if (row == nullptr) return Status::ok();
    row->seconds.push_back(seconds_since(begin));
    row->processor_s += spent;
    return Status::ok();
  }

  Status backward(Clock::time_point begin) {
    for (const std::size_t i : by_ready_) {
      pause_until(begin, factor_ * training_.gradients[i].ready_s);
      CASYNC_RETURN_IF_ERROR(submit(i));
    }
    pause_until(begin, factor_ * training_.backward_s);
    return Status::ok();
  }

  Status forward(Clock::time_point begin) {
    double late = 0;
    for (const std::size_t i : by_need_) {
      const double moment = factor_ * (training_.backward_s + training_.gradients[i].need_s);
      pause_until(begin, moment + late);
      if (session_.done(handles_[i])) continue;
      CASYNC_RETURN_IF_ERROR(session_.wait(handles_[i], -1));
      late = std::max(late, seconds_since(begin) - moment);
    }
    pause_until(begin, factor_ * (training_.backward_s + training_.forward_s) + late);
    return Status::ok();
  }

  /// The next step's factor of this rank's passes, as the simulator has it.
  void draw_factor() {
    const auto rank = static_cast<std::uint64_t>(session_.rank());
    factor_ = training_.slowness_of(session_.rank()) * (1 + training_.jitter * drawn_for(0, rank, steps_++));
  }

  static void pause_until(Clock::time_point begin, double seconds) {
    std::this_thread::sleep_until(begin +
                                  std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds)));
  }

  Session& session_;
  const Training& training_;
  GradientMemory& memory_;
  std::vector<std::size_t> by_ready_, by_need_;
  std::vector<runtime::GradientId> ids_;
  std::vector<runtime::Handle> handles_;
  double factor_ = 1;
  std::uint64_t steps_ = 0;
  runtime::GradientId barrier_{};
  float value_ = 0;
  double barrier_s_ = std::numeric_limits<double>::infinity();
};

Table make_table(const StepBenchOptions& options, const Training& training, const Session& session) {
  std::vector<std::string> about = about_this_job(
      training.name + " on " + std::to_string(session.ranks()) + " ranks, " + text_of(session.topology()),
      session.stats().transport);
  char text[120];
  std::snprintf(text, sizeof text, "training alone takes %.3f ms of a step; other times are of rank 0, in a step",
                1e3 * (training.backward_s + training.forward_s));
  about.emplace_back(text);
  return Table(options.format, about,
               {{"plan", "plan", 24},
                {"steps", "steps", 6},
                {"step_min_ms", "min(ms)", 10, 3},
                {"step_median_ms", "median(ms)", 10, 3},
                {"predicted_ms", "predicted", 10, 3},
                {"encode_ms", "encode", 9, 3},
                {"merge_ms", "merge", 9, 3},
                {"decode_ms", "decode", 9, 3},
                {"processor_ms", "processor", 10, 3},
                {"payload_bytes", "payload(B)", 12, 0}});
}

/// The prediction for rank 0, whose steps are measured.
double predicted_s(const Simulation& simulation) {
  return simulation.ranks.empty() ? simulation.step_s : simulation.ranks.front().step_s;
}

void print(Table& table, const std::string& plan, const StepRow& row, const Result<Simulation>* predicted) {
  const auto steps = static_cast<double>(row.seconds.size()) * row.every;
  const auto each_ms = [&](double runtime::SessionStats::*what) {
    return 1e3 * (row.after.*what - row.before.*what) / steps;
  };
  const double bytes = static_cast<double>(row.after.payload_bytes_sent - row.before.payload_bytes_sent) / steps;
  table.add(
      {plan.empty() ? "none" : plan, row.seconds.size() * static_cast<std::size_t>(row.every),
       1e3 * *std::min_element(row.seconds.begin(), row.seconds.end()), 1e3 * median(row.seconds),
       predicted == nullptr ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(1e3 * predicted_s(**predicted)),
       each_ms(&runtime::SessionStats::encode_s), each_ms(&runtime::SessionStats::merge_s),
       each_ms(&runtime::SessionStats::decode_s), 1e3 * row.processor_s, bytes});
}

}  // namespace

Status bench_step(const StepBenchOptions& options) {
  // Training's moments are fractions of a millisecond apart; a sleeping thread is otherwise woken up to 50 us late.
  prctl(PR_SET_TIMERSLACK, 1000UL, 0, 0, 0);
  if (options.plans.size() > 1 && (!options.trace_directory.empty() || !options.record_directory.empty())) {
    return invalid_argument(
        "CASYNC_TRACE and CASYNC_RECORD take one --plan: each would overwrite what the previous one wrote");
  }
  const Result<Training> training = read_model_input(options.model);
  CASYNC_RETURN_IF_ERROR(training.status());
  std::optional<Profile> profile;
  if (!options.profile.empty()) {
    Result<Profile> read = read_profile_input(options.profile);
    CASYNC_RETURN_IF_ERROR(read.status());
    profile = std::move(*read);
  }
  std::optional<Table> table;
  std::optional<GradientMemory> memory;
  for (const std::string& plan_file : options.plans) {
    runtime::SessionOptions wanted;
    wanted.plan_file = plan_file;
    wanted.transport = options.transport;
    wanted.timeout_s = options.timeout_s;
    wanted.trace_directory = options.trace_directory;
    wanted.record_directory = options.record_directory;
    Result<std::unique_ptr<Session>> session = Session::open(wanted);
    CASYNC_RETURN_IF_ERROR(session.status());
    if (!memory) memory.emplace(*training, (*session)->rank());
    const Result<Plan> plan = plan_file.empty() ? Result<Plan>(Plan{}) : read_plan_file(plan_file);
    CASYNC_RETURN_IF_ERROR(plan.status());
    const Result<StepRow> row = Trainer(**session, *training, *memory).measure(options, plan->mode);
    CASYNC_RETURN_IF_ERROR(row.status());
    if ((*session)->rank() == 0) {
      if (!table) table.emplace(make_table(options, *training, **session));
      std::optional<Result<Simulation>> predicted;
      if (profile) {
        const Result<Scenario> scenario = scenario_of(*profile, *training, *plan, (*session)->topology());
        CASYNC_RETURN_IF_ERROR(scenario.status());
        predicted = simulate(*scenario, {});
        CASYNC_RETURN_IF_ERROR(predicted->status());
      }
      print(*table, plan_file, *row, predicted ? &*predicted : nullptr);
    }
    CASYNC_RETURN_IF_ERROR((*session)->close());
  }
  if (table) table->end();
  return Status::ok();
}

}  // namespace casync::tools
