// SPDX-License-Identifier: Apache-2.0
//
// Measures what a step costs besides moving bytes and computing: two ranks in this process, a thread each. Exit code 1:
// a step failed, or a result is not the mean of the ranks' gradients.
//
//   control_path_bench [TRANSPORT]        ucx:tcp unless said otherwise; loopback and ucx:shm as well
//   control_path_bench TRANSPORT small    only many small gradients next to one of their bytes, on four ranks
//   control_path_bench TRANSPORT small CODEC FORM    for a profiler: only steps of one FORM: bundles, group, flat or
//   one
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <functional>
#include <iterator>
#include <optional>
#include <thread>
#include <utility>

#include <nlohmann/json.hpp>

#include "runtime/session/session.h"
#include "tests/support/ranks.h"

using namespace casync;           // NOLINT(google-build-using-namespace)
using namespace casync::runtime;  // NOLINT(google-build-using-namespace)
using casync::test::RankContext;

namespace {

constexpr int kRanks = 2;

double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) { return static_cast<double>(t.tv_sec) + 1e-6 * t.tv_usec; };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

/// Gradients of float32 and their submissions. All elements of a rank are its number, from 1 on; steps make them the
/// mean.
class Model {
 public:
  /// `flat`: one after the other in one memory, instead of each in its own.
  std::string declare(Session& session, int gradients, Elements elements, const std::string& prefix = "g",
                      bool flat = false) {
    const auto count = static_cast<std::size_t>(gradients);
    submissions_.clear();
    const auto own = static_cast<float>(session.rank() + 1);
    data_.assign(flat ? 1 : count, std::vector<float>(flat ? elements * count : elements, own));
    for (int i = 0; i < gradients; ++i) {
      const Result<GradientId> id =
          session.declare({prefix + std::to_string(i), DType::kFloat32, {static_cast<std::int64_t>(elements)}, 0});
      if (!id) return id.status().text();
      const auto at = static_cast<std::size_t>(i);
      float* const values = flat ? data_[0].data() + at * elements : data_[at].data();
      submissions_.push_back({*id, {reinterpret_cast<std::byte*>(values), elements * sizeof(float)}});
    }
    return "";
  }
  std::string step(Session& session) {
    if (const auto handles = session.submit(submissions_); !handles) return handles.status().text();
    const Result<StepResult> done = session.step();
    return done ? "" : done.status().text();
  }
  /// Call after a step.
  std::string check(const Session& session) const {
    const float mean = 0.5f * static_cast<float>(session.ranks() + 1);
    for (const std::vector<float>& values : data_) {
      for (const float value : values) {
        if (!(std::abs(value - mean) <= 0.01f * mean)) {
          return "an element is " + std::to_string(value) + ", expected the mean " + std::to_string(mean);
        }
      }
    }
    return "";
  }

 private:
  std::vector<std::vector<float>> data_;
  std::vector<Submission> submissions_;
};

double unix_microseconds() {
  return std::chrono::duration<double, std::micro>(std::chrono::system_clock::now().time_since_epoch()).count();
}

/// When each step of a trace sent first, in microseconds of unix time.
std::vector<double> first_sends(const std::string& file) {
  std::vector<double> firsts;
  std::ifstream stream(file);
  const nlohmann::json trace = nlohmann::json::parse(stream);
  const double epoch = trace.at("casync").at("epoch_us");
  for (const nlohmann::json& event : trace.at("traceEvents")) {
    if (event.value("cat", "") != "send") continue;
    const auto step = event.at("args").at("step").get<std::size_t>();
    firsts.resize(std::max(firsts.size(), step + 1), 1e300);
    firsts[step] = std::min(firsts[step], epoch + event.at("ts").get<double>());
  }
  return firsts;
}

// One small gradient, after a pause in which everything has fallen asleep. Rank 1 sends first: rank 0 owns it.
std::string submit_to_first_byte(const std::string& transport) {
  const test::TemporaryDirectory traces;
  std::vector<double> submitted;
  const std::string failure = test::with_sessions(
      kRanks, [&](SessionOptions& options) { options.trace_directory = traces.path(); },
      [&](Session& session, RankContext& context) -> std::string {
        Model model;
        std::string failed = model.declare(session, 1, 1024);
        for (int i = 0; failed.empty() && i < 500; ++i) {
          std::this_thread::sleep_for(std::chrono::milliseconds(context.rank == 0 ? 1 : 2));
          if (context.rank == 1) submitted.push_back(unix_microseconds());
          failed = model.step(session);
        }
        return failed.empty() ? model.check(session) : failed;
      },
      transport);
  if (!failure.empty()) return failure;
  std::vector<double> delays = first_sends(traces.path() + "/rank1.trace.json");
  if (delays.empty()) return "the trace of rank 1 has no message\n";
  for (std::size_t i = 0; i < delays.size(); ++i) delays[i] -= submitted[i];
  std::sort(delays.begin(), delays.end());
  std::printf("from submit to the first byte handed to the network: median %.1f us, 99 %% below %.1f us\n",
              delays[delays.size() / 2], delays[delays.size() * 99 / 100]);
  return "";
}

// Many gradients of a few elements: next to nothing to compute or to copy.
std::string time_per_task(const std::string& transport) {
  return test::with_sessions(
      kRanks, nullptr,
      [](Session& session, RankContext& context) -> std::string {
        constexpr int kSteps = 200;
        Model model;
        std::string failed = model.declare(session, 256, 16);
        for (int i = 0; failed.empty() && i < 20; ++i) failed = model.step(session);
        const SessionStats before = session.stats();
        const double cpu = cpu_seconds();
        for (int i = 0; failed.empty() && i < kSteps; ++i) failed = model.step(session);
        const SessionStats after = session.stats();
        const double cpu_after = cpu_seconds();
        if (failed.empty()) failed = model.check(session);
        if (!failed.empty() || context.rank != 0) return failed;
        const auto tasks = static_cast<double>(after.tasks - before.tasks);
        std::printf("processor time per task: %.2f us, all threads of both ranks over all their tasks\n",
                    1e6 * (cpu_after - cpu) / (tasks * kRanks));
        std::printf("per step of 256 gradients: %.0f tasks, %.1f messages, %.2f allocations\n", tasks / kSteps,
                    static_cast<double>(after.messages_sent - before.messages_sent) / kSteps,
                    static_cast<double>(after.allocations - before.allocations) / kSteps);
        return "";
      },
      transport);
}

// Rank 0 waits for a gradient that rank 1 submits seconds later.
std::string cpu_while_waiting(const std::string& transport) {
  return test::with_sessions(
      kRanks, nullptr,
      [](Session& session, RankContext& context) -> std::string {
        constexpr double kPause = 3;
        Model model;
        std::string failed = model.declare(session, 1, 1 << 20);
        for (int i = 0; failed.empty() && i < 3; ++i) failed = model.step(session);
        if (!failed.empty()) return failed;
        if (context.rank == 1) {
          std::this_thread::sleep_for(std::chrono::milliseconds(100));
          const double cpu = cpu_seconds();
          std::this_thread::sleep_for(std::chrono::duration<double>(kPause));
          std::printf("processor time of a rank that waits: %.2f %% of a core\n",
                      100 * (cpu_seconds() - cpu) / kPause / kRanks);
        }
        failed = model.step(session);
        return failed.empty() ? model.check(session) : failed;
      },
      transport);
}

/// The least and the median of steps, and the processor time of all threads for each of them, in milliseconds.
struct StepTimes {
  double least = 0, median = 0, processor = 0;
};

std::string time_steps(Session& session, Model& model, int steps, StepTimes& result) {
  std::vector<double> times;
  const double processor = cpu_seconds();
  for (int i = 0; i < steps; ++i) {
    const auto from = std::chrono::steady_clock::now();
    if (std::string failed = model.step(session); !failed.empty()) return failed;
    times.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - from).count());
  }
  std::sort(times.begin(), times.end());
  result = {times.front(), times[times.size() / 2], 1e3 * (cpu_seconds() - processor) / steps};
  return "";
}

// Writes a plan that sends `gradients` small ones as one.
void write_group(const std::string& file, const std::string& codec, int gradients) {
  const std::string choice = "codec { name: \"" + codec + "\" }";
  std::ofstream plan(file);
  plan << "version: 1\ndefault { " << choice << " }\ngroup { name: \"all\" " << choice << "\n";
  for (int i = 0; i < gradients; ++i) plan << "gradient: \"small" << i << "\"\n";
  plan << "}\n";
}

constexpr int kFour = 4, kGradients = 2000;
constexpr Elements kElements = 256;

/// 2,000 gradients of 1 KiB, or one of their bytes.
enum class Form {
  kBundles,
  kGroup,
  kFlat,  ///< a group whose members lie one after the other
  kOne,
};

constexpr std::pair<const char*, const char*> kForms[] = {  // as an argument, and as text
    {"bundles", "bundles"},
    {"group", "a group"},
    {"flat", "a group in one memory"},
    {"one", "one gradient"}};

const char* name_of(Form form) { return kForms[static_cast<std::size_t>(form)].second; }

std::optional<Form> form_of(const std::string& argument) {
  for (std::size_t i = 0; i < std::size(kForms); ++i) {
    if (argument == kForms[i].first) return static_cast<Form>(i);
  }
  return std::nullopt;
}

std::string declare(Session& session, Form form, Model& model) {
  if (form == Form::kOne) return model.declare(session, 1, kGradients * kElements, "large");
  return model.declare(session, kGradients, kElements, "small", form == Form::kFlat);
}

// Runs `body` in sessions of four ranks that send small gradients in this form.
std::string with_four(const std::string& transport, const std::string& codec, Form form,
                      const std::function<std::string(Session&, RankContext&)>& body) {
  const test::TemporaryDirectory folder;
  const std::string plan = folder.path() + "/plan.txtpb";
  const bool grouped = form == Form::kGroup || form == Form::kFlat;
  if (grouped) write_group(plan, codec, kGradients);
  const auto configure = [&](SessionOptions& options) {
    if (grouped) {
      options.plan_file = plan;
    } else {
      options.codec = CodecChoice{codec, {}};
    }
  };
  return test::with_sessions(kFour, configure, body, transport);
}

// Compares 2,000 gradients of 1 KiB, in bundles or in a group of the plan, with one gradient of the same bytes, by
// turns in the same session.
std::string many_small_gradients(const std::string& transport, const std::string& codec, Form form) {
  return with_four(transport, codec, form, [&](Session& session, RankContext& context) -> std::string {
    Model small, large;
    std::string failed = declare(session, form, small);
    if (failed.empty()) failed = declare(session, Form::kOne, large);
    double least_small = 1e9, least_large = 1e9;
    std::vector<double> ratios, processor_ratios;
    for (int turn = 0; failed.empty() && turn < 8; ++turn) {
      StepTimes of_small, of_large;
      failed = time_steps(session, small, 25, of_small);
      if (failed.empty()) failed = time_steps(session, large, 25, of_large);
      if (turn == 0) continue;
      least_small = std::min(least_small, of_small.least);
      least_large = std::min(least_large, of_large.least);
      ratios.push_back(of_small.median / of_large.median);
      processor_ratios.push_back(of_small.processor / of_large.processor);
      if (context.rank != 0) continue;
      std::printf("  %.2f / %.2f ms; processor %.2f / %.2f ms\n", of_small.median, of_large.median, of_small.processor,
                  of_large.processor);
    }
    if (failed.empty()) failed = small.check(session);
    if (failed.empty()) failed = large.check(session);
    if (!failed.empty() || context.rank != 0) return failed;
    std::sort(ratios.begin(), ratios.end());
    std::sort(processor_ratios.begin(), processor_ratios.end());
    std::printf(
        "%s, %s: 2,000 gradients of 1 KiB: least %.2f ms; one of their bytes: least %.2f ms; medians: %.2f x; "
        "processor time: %.2f x\n",
        codec.c_str(), name_of(form), least_small, least_large, ratios[ratios.size() / 2],
        processor_ratios[processor_ratios.size() / 2]);
    return "";
  });
}

// Steps of one form alone, for a profiler.
std::string steps_of(const std::string& transport, const std::string& codec, Form form) {
  constexpr int kSteps = 1000;
  return with_four(transport, codec, form, [&](Session& session, RankContext& context) -> std::string {
    Model model;
    std::string failed = declare(session, form, model);
    StepTimes warm, times;
    if (failed.empty()) failed = time_steps(session, model, 25, warm);
    if (failed.empty()) failed = time_steps(session, model, kSteps, times);
    if (failed.empty()) failed = model.check(session);
    if (!failed.empty() || context.rank != 0) return failed;
    std::printf("%s, %s: processor time of 1 KiB on a rank: %.0f ns; steps: least %.2f, median %.2f ms\n",
                codec.c_str(), name_of(form), 1e6 * times.processor / (kFour * kGradients), times.least, times.median);
    return "";
  });
}

}  // namespace

int main(int argc, char** argv) {
  const std::string transport = argc > 1 ? argv[1] : "ucx:tcp";
  if (argc > 4) {
    const std::optional<Form> form = form_of(argv[4]);
    const std::string failure = form ? steps_of(transport, argv[3], *form) : argv[4] + std::string(": unknown form\n");
    if (!failure.empty()) std::fprintf(stderr, "control_path_bench: %s", failure.c_str());
    return failure.empty() ? 0 : 1;
  }
  if (argc > 2) {
    for (const char* codec : {"int8", "none"}) {
      for (const Form form : {Form::kBundles, Form::kGroup, Form::kFlat}) {
        if (const std::string failure = many_small_gradients(transport, codec, form); !failure.empty()) {
          std::fprintf(stderr, "control_path_bench: %s", failure.c_str());
          return 1;
        }
      }
    }
    return 0;
  }
  std::printf("# two ranks over %s\n", transport.c_str());
  for (const auto& measure : {submit_to_first_byte, time_per_task, cpu_while_waiting}) {
    if (const std::string failure = measure(transport); !failure.empty()) {
      std::fprintf(stderr, "control_path_bench: %s", failure.c_str());
      return 1;
    }
  }
  return 0;
}
