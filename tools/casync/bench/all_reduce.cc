// SPDX-License-Identifier: Apache-2.0
#include "tools/casync/bench/all_reduce.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>

#include "base/clock.h"
#include "casync/model/codec_choice.h"
#include "casync/planner/decide.h"
#include "casync/planner/plan_file.h"
#include "casync/planner/search/payload_bits.h"
#include "casync/strategies/strategy.h"
#include "compll/codec/codec.h"
#include "runtime/session/inner_runs.h"
#include "runtime/session/session.h"
#include "tools/casync/bench/inputs.h"
#include "tools/casync/bench/replay.h"
#include "tools/casync/codec_facts.h"
#include "tools/casync/output_file.h"
#include "tools/casync/private_directory.h"
#include "tools/casync/this_machine.h"

namespace casync::tools {
namespace {

using runtime::Session;

/// The measurements of one size.
struct Row {
  std::vector<double> seconds;
  double wire_bytes = 0, payload_bytes = 0;  // sent by this rank, per iteration
  double error = 0;
  Elements wrong = 0;
};

/// The plan as the session will see it, and the file that tells it so where there is one.
struct BenchPlan {
  Plan plan;
  std::string file;
  PrivateDirectory directory;
};

/// Only a plan file can name a strategy, so --strategy writes one.
Result<BenchPlan> make_plan(const AllReduceOptions& options) {
  BenchPlan bench;
  bench.file = options.plan_file;
  bench.plan.defaults.codec = options.codec;
  if (options.strategy) {
    Result<PrivateDirectory> directory = PrivateDirectory::make_watched();
    CASYNC_RETURN_IF_ERROR(directory.status());
    bench.directory = std::move(*directory);
    bench.file = bench.directory.path() + "/plan.txtpb";
    bench.plan.defaults.strategy = options.strategy;
    const Result<std::string> text = text_of_plan(bench.plan, bench.file);
    CASYNC_RETURN_IF_ERROR(text.status());
    CASYNC_RETURN_IF_ERROR(write_output(bench.file, *text));
    return bench;
  }
  if (bench.file.empty()) return bench;
  Result<Plan> plan = read_plan_file(bench.file);
  CASYNC_RETURN_IF_ERROR(plan.status());
  bench.plan = std::move(*plan);
  return bench;
}

GradientSpec spec_of(Bytes size) {
  return {"bench." + std::to_string(size), DType::kFloat32, {static_cast<std::int64_t>(size / sizeof(float))}, 0};
}

/// PlanError: not all steps of one gradient are alike, so that the first one cannot be checked, nor the others
/// measured.
Status check_alike(const Plan& plan, const std::string& file) {
  const auto warms_up = [](const Choice& choice) { return choice.warm_up_steps.value_or(0) > 0; };
  const auto has = [&](const auto& all) {
    return std::any_of(all.begin(), all.end(), [&](const auto& one) { return warms_up(one.choice); });
  };
  std::string what;
  if (!(plan.mode == SyncMode{})) what = "a mode";
  if (!plan.groups.empty()) what = "groups";
  if (warms_up(plan.defaults) || has(plan.rules) || has(plan.gradients)) what = "warm_up_steps";
  if (what.empty()) return Status::ok();
  return plan_error(file + ": " + what +
                    ", with which all_reduce cannot measure single gradients: leave it out, or use " +
                    "`casync bench step`");
}

/// A gradient that is filled anew ahead of every step, as backward passes do.
class Worker {
 public:
  Worker(Session& session, const AllReduceOptions& options, std::uint64_t seed, Elements count)
      : session_(session), options_(options), input_(make_input(session.rank(), count)), data_(count) {
    first_step_.seed = seed;
  }

  Result<Row> measure(const Decision& decision, const GradientSpec& spec) {
    Result<runtime::GradientId> id = session_.declare(spec);
    CASYNC_RETURN_IF_ERROR(id.status());
    id_ = *id;
    first_step_.key = runtime::key_of(spec.name, 0);
    first_step_.number = session_.stats().steps;
    Row row;
    CASYNC_RETURN_IF_ERROR(step(nullptr));
    if (options_.check) CASYNC_RETURN_IF_ERROR(check(decision, row));
    for (int i = 0; i < options_.warm_up; ++i) CASYNC_RETURN_IF_ERROR(step(nullptr));
    const runtime::SessionStats before = session_.stats();
    for (int i = 0; i < options_.iterations; ++i) CASYNC_RETURN_IF_ERROR(step(&row.seconds));
    const runtime::SessionStats after = session_.stats();
    row.wire_bytes = static_cast<double>(after.wire_bytes_sent - before.wire_bytes_sent) / options_.iterations;
    row.payload_bytes = static_cast<double>(after.payload_bytes_sent - before.payload_bytes_sent) / options_.iterations;
    return row;
  }

 private:
  Status step(std::vector<double>* seconds) {
    std::memcpy(data_.data(), input_.data(), data_.size() * sizeof(float));
    const runtime::Submission submission{id_,
                                         {reinterpret_cast<std::byte*>(data_.data()), data_.size() * sizeof(float)}};
    const Clock::time_point start = Clock::now();
    CASYNC_RETURN_IF_ERROR(session_.submit({&submission, 1}).status());
    CASYNC_RETURN_IF_ERROR(session_.step().status());
    if (seconds != nullptr) seconds->push_back(std::chrono::duration<double>(Clock::now() - start).count());
    return Status::ok();
  }

  Status check(const Decision& decision, Row& row) const {
    const std::vector<float> exact = plain_average(session_.ranks(), data_.size());
    row.error = normalized_error(data_, exact);
    row.wrong = count_different(data_, exact);
    const bool plain = decision.codec.name == "none" && decision.second_hop.name == "none";
    if (plain && decision.strategy == StrategyKind::kPs) return Status::ok();
    // The owner of the first partition depends on the gradients that were declared earlier.
    const auto ranks = static_cast<std::size_t>(session_.ranks());
    for (std::size_t owner = 0; owner < ranks; ++owner) {
      Result<std::vector<float>> expected =
          replay_first_step(decision, session_.topology(), data_.size(), owner, first_step_);
      CASYNC_RETURN_IF_ERROR(expected.status());
      const Elements wrong = count_different(data_, *expected);
      row.wrong = owner == 0 ? wrong : std::min(row.wrong, wrong);
      if (row.wrong == 0) break;
    }
    return Status::ok();
  }

  Session& session_;
  const AllReduceOptions& options_;
  std::vector<float> input_, data_;
  ReplayedStep first_step_;
  runtime::GradientId id_{};
};

Table make_table(const AllReduceOptions& options, const Session& session) {
  std::vector<std::string> about =
      about_this_job(std::to_string(session.ranks()) + " ranks", session.stats().transport);
  about.push_back(std::to_string(options.iterations) + " iterations after " + std::to_string(options.warm_up) +
                  ", in place, from submit to the end of the step on rank 0");
  return Table(options.format, about,
               {{"size_bytes", "size(B)", 11},
                {"count", "count", 10},
                {"type", "type", 8},
                {"codec", "codec", 10},
                {"strategy", "strategy", 8},
                {"time_min_us", "min(us)", 10, 1},
                {"time_median_us", "median(us)", 11, 1},
                {"algbw_gb_s", "algbw(GB/s)", 11, 3},
                {"busbw_gb_s", "busbw(GB/s)", 11, 3},
                {"wire_bytes_per_rank", "wire(B/rank)", 12, 0},
                {"ratio", "ratio", 7, 2},
                {"nmse", "nmse", 9, 4},
                {"wrong", "#wrong", 7}});
}

void print(Table& table, const AllReduceOptions& options, const Decision& decision, int ranks, Bytes size, Row& row) {
  std::sort(row.seconds.begin(), row.seconds.end());
  const double median = row.seconds[row.seconds.size() / 2], bytes = static_cast<double>(size);
  const double share = 2.0 * (ranks - 1) / ranks;
  const std::string second = decision.second_hop == decision.codec ? "" : ">" + text_of(decision.second_hop);
  table.add({size, size / sizeof(float), "float32", text_of(decision.codec) + second,
             std::string(name_of(decision.strategy)), row.seconds.front() * 1e6, median * 1e6, bytes / median / 1e9,
             bytes / median / 1e9 * share, row.wire_bytes,
             row.payload_bytes > 0 ? bytes * share / row.payload_bytes : 0.0,
             options.check ? nlohmann::ordered_json(row.error) : nullptr,
             options.check ? nlohmann::ordered_json(row.wrong) : nullptr});
}

}  // namespace

Result<bool> bench_all_reduce(const AllReduceOptions& options) {
  const Result<BenchPlan> bench = make_plan(options);
  CASYNC_RETURN_IF_ERROR(bench.status());
  const Plan& plan = bench.value().plan;
  CASYNC_RETURN_IF_ERROR(check_alike(plan, bench.value().file));
  runtime::SessionOptions wanted;
  wanted.plan_file = bench.value().file;
  if (wanted.plan_file.empty()) wanted.codec = options.codec;
  wanted.transport = options.transport;
  wanted.timeout_s = options.timeout_s;
  wanted.trace_directory = options.trace_directory;
  Result<std::unique_ptr<Session>> session = Session::open(wanted);
  CASYNC_RETURN_IF_ERROR(session.status());
  std::optional<Table> table;
  if ((*session)->rank() == 0) table.emplace(make_table(options, **session));
  bool right = true;
  for (Bytes size : options.sizes) {
    const GradientSpec spec = spec_of(size);
    const Decision decision = decide(plan, spec, (*session)->ranks(), payload_bits(facts_of));
    Result<Row> row = Worker(**session, options, plan.seed, size / sizeof(float)).measure(decision, spec);
    CASYNC_RETURN_IF_ERROR(row.status());
    if (table) print(*table, options, decision, (*session)->ranks(), size, *row);
    if (row->wrong > 0) {
      std::fprintf(stderr, "casync bench: %zu elements are wrong on rank %d at %zu bytes\n", row->wrong,
                   (*session)->rank(), size);
      right = false;
    }
  }
  CASYNC_RETURN_IF_ERROR((*session)->close());
  if (table) table->end();  // one JSON object, or the error's
  return right;
}

}  // namespace casync::tools
