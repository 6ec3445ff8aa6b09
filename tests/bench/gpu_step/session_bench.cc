// SPDX-License-Identifier: Apache-2.0
//
// Measures sessions whose gradients are on this machine's GPU: two ranks in this process, a thread each, over loopback.
//
//   gpu_session_bench [MODEL [CODEC ...]]   examples/models/resnet50.txtpb and some codecs unless said otherwise
//
// Prints tables in Markdown: of one gradient, and of the model's. `first kernel`: the host's time from the call of
// submit() to the end of the same rank's first launch. `kernels`: the sum of the times that a rank's kernels take on
// the device, each between two events, in steps of their own. `calls`: allocations, synchronizations, and made events,
// streams and modules in all measured steps. Exit code 1: there were such calls, or a session failed. 77: no GPU.
#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstdio>
#include <mutex>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "casync/planner/model_file.h"
#include "compll/cuda/cubin.h"
#include "compll/cuda/driver.h"
#include "runtime/device/cuda/cuda_device.h"
#include "tests/runtime/session/gpu.h"
#include "tests/support/ranks.h"

namespace casync::test {
namespace {

using Clock = std::chrono::steady_clock;
using namespace casync::runtime;  // NOLINT(google-build-using-namespace)
using compll::DriverApi;

constexpr int kRanks = 2, kWarmUp = 5, kSteps = 30, kTimed = 3, kSkipped = 77;

/// Counts and times of the driver's calls.
class Watch {
 public:
  static Watch& only() {
    static auto* const watch = new Watch;  // outlives all other statics
    return *watch;
  }
  /// The driver with these calls watched, of rank 0 and of the others.
  const DriverApi& driver() const { return watched_; }
  const DriverApi& driver_of_others() const { return others_; }

  void begin_step() { first_launch_ = 0; }
  /// Seconds from `begin` to the end of the step's first launch of rank 0.
  double first_launch_after(Clock::time_point begin) const {
    return std::chrono::duration<double>(Clock::duration(first_launch_.load()) - begin.time_since_epoch()).count();
  }
  void forget() { launches = forbidden = 0; }
  /// Puts events around the kernels of the next steps, up to `most`, in the current context.
  void begin_timing(std::size_t most) {
    while (events_.size() < 2 * most) real_.make_event(&events_.emplace_back(), 0);
    taken_ = 0;
    timing_ = true;
  }
  /// Seconds of all kernels since. Every stream is at rest.
  double end_timing() {
    timing_ = false;
    double sum = 0;
    for (std::size_t i = 0; i + 1 < taken_; i += 2) {
      float milliseconds = 0;
      real_.milliseconds_between(&milliseconds, events_[i], events_[i + 1]);
      sum += 1e-3 * static_cast<double>(milliseconds);
    }
    return sum;
  }

  std::atomic<std::uint64_t> launches{0}, forbidden{0};

 private:
  using Code = DriverApi::Code;
  using Handle = DriverApi::Handle;

  Watch() : real_(*compll::find_driver().value()), watched_(real_) {
    watched_.launch = &launch<true>;
    watched_.allocate = &counted<&DriverApi::allocate>;
    watched_.free = &counted<&DriverApi::free>;
    watched_.allocate_pinned = &counted<&DriverApi::allocate_pinned>;
    watched_.free_pinned = &counted<&DriverApi::free_pinned>;
    watched_.load_module = &counted<&DriverApi::load_module>;
    watched_.make_stream = &counted<&DriverApi::make_stream>;
    watched_.wait_for_stream = &counted<&DriverApi::wait_for_stream>;
    watched_.make_event = &counted<&DriverApi::make_event>;
    others_ = watched_;
    others_.launch = &launch<false>;
  }

  template <auto member, class... Arguments>
  static Code counted(Arguments... arguments) {
    ++only().forbidden;
    return (only().real_.*member)(arguments...);
  }

  template <bool is_rank_0>
  static Code launch(Handle function, unsigned x, unsigned y, unsigned z, unsigned block_x, unsigned block_y,
                     unsigned block_z, unsigned shared, Handle stream, void** arguments, void** extra) {
    Watch& watch = only();
    Handle around[2] = {};
    if (watch.timing_) watch.take(around);
    if (around[0] != nullptr) watch.real_.record_event(around[0], stream);
    const Code code =
        watch.real_.launch(function, x, y, z, block_x, block_y, block_z, shared, stream, arguments, extra);
    if (around[1] != nullptr) watch.real_.record_event(around[1], stream);
    ++watch.launches;
    std::int64_t none = 0;
    if (is_rank_0) watch.first_launch_.compare_exchange_strong(none, Clock::now().time_since_epoch().count());
    return code;
  }

  void take(Handle (&around)[2]) {
    const std::lock_guard lock(mutex_);
    if (taken_ + 2 > events_.size()) return;
    around[0] = events_[taken_], around[1] = events_[taken_ + 1];
    taken_ += 2;
  }

  DriverApi real_, watched_, others_;
  std::atomic<std::int64_t> first_launch_{0};
  std::atomic<bool> timing_{false};
  std::mutex mutex_;
  std::vector<Handle> events_;  ///< pairs; under mutex_ while kernels are timed
  std::size_t taken_ = 0;
};

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

/// Figures of one codec.
struct Figures {
  std::vector<double> steps, submits, firsts;  ///< seconds, of rank 0
  double kernels = 0;                          ///< seconds a step and rank
  double launches = 0;                         ///< a step and rank
  std::uint64_t forbidden = 0;
};

/// The steps of one rank. Rank 0 alone writes to `figures`.
std::string run_rank(Session& session, int rank, const Training& model, std::barrier<>& together, Figures& figures) {
  Program program;
  std::vector<Program::Floats> memory;
  std::vector<Submission> all;
  for (const TrainedGradient& gradient : model.gradients) {
    const auto& shape = gradient.spec.shape;
    const auto count = std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
    const Result<GradientId> id = session.declare({gradient.spec.name, DType::kFloat32, shape, gradient.spec.priority});
    if (!id) return id.status().text();
    memory.push_back(program.floats(static_cast<std::size_t>(count)));
    program.write(memory.back(), std::vector<float>(static_cast<std::size_t>(count), 1.0f + static_cast<float>(rank)));
    all.push_back(program.submission(*id, memory.back()));
  }
  const auto step = [&](double* submit, double* first, double* whole) -> std::string {
    together.arrive_and_wait();
    if (rank == 0) Watch::only().begin_step();
    together.arrive_and_wait();
    const Clock::time_point begin = Clock::now();
    const auto handles = session.submit(all);
    if (!handles) return handles.status().text();
    const Clock::time_point submitted = Clock::now();
    if (const Result<StepResult> done = session.step(); !done) return done.status().text();
    if (submit == nullptr) return "";
    *submit = std::chrono::duration<double>(submitted - begin).count();
    *first = Watch::only().first_launch_after(begin);
    *whole = std::chrono::duration<double>(Clock::now() - begin).count();
    return "";
  };
  const auto steps = [&](int count, bool measured) -> std::string {
    for (int i = 0; i < count; ++i) {
      double submit = 0, first = 0, whole = 0;
      if (std::string bad = step(&submit, &first, &whole); !bad.empty()) return bad;
      if (rank != 0 || !measured) continue;
      figures.submits.push_back(submit);
      figures.firsts.push_back(first);
      figures.steps.push_back(whole);
    }
    together.arrive_and_wait();
    return "";
  };
  if (std::string bad = steps(kWarmUp, false); !bad.empty()) return bad;
  if (rank == 0) Watch::only().forget();
  if (std::string bad = steps(kSteps, true); !bad.empty()) return bad;
  if (rank == 0) {
    figures.launches = static_cast<double>(Watch::only().launches) / kSteps / kRanks;
    figures.forbidden = Watch::only().forbidden;
    program.context([](const DriverApi&) { Watch::only().begin_timing(100'000); });
  }
  if (std::string bad = steps(kTimed, false); !bad.empty()) return bad;
  if (rank == 0) {
    program.context([&](const DriverApi&) { figures.kernels = Watch::only().end_timing() / kTimed / kRanks; });
  }
  return "";
}

Result<std::unique_ptr<runtime::Device>> open_on(const DriverApi& driver) {
  const auto compiled = [](const compll::CudaCodecText& text,
                           const std::string& architecture) -> Result<std::vector<std::string>> {
    Result<compll::Cubin> cubin = compll::cubin_of(text, architecture);
    if (!cubin) return cubin.status();
    return std::move(cubin->code);
  };
  return runtime::make_cuda_device(driver, 0, compiled);
}

/// A model of one gradient of 1 Mi elements.
Training one_gradient() {
  Training model;
  model.name = "one";
  model.gradients.push_back({{"g", DType::kFloat32, {1 << 20}, 0}, 0, 0});
  return model;
}

int run(const Training& model, const std::vector<std::string>& codecs) {
  std::printf("\n%s, %zu gradients, two ranks over loopback; medians of %d steps.\n\n", model.name.c_str(),
              model.gradients.size(), kSteps);
  std::printf("| codec | step, ms | submit, us | first kernel, us | launches of a rank | kernels, ms | calls |\n");
  std::printf("|---|---|---|---|---|---|---|\n");
  int failed = 0;
  for (const std::string& codec : codecs) {
    Figures figures;
    std::barrier<> together(kRanks);
    const std::string bad = with_sessions(
        kRanks,
        [&](SessionOptions& options) {
          options.codec = CodecChoice{codec, {}};
          options.timeout_s = 60;
          on_gpu(options);
          if (*options.launch.rank == 0) return;
          options.open_device = [](const std::string&) { return open_on(Watch::only().driver_of_others()); };
        },
        [&](Session& session, RankContext& context) {
          std::string complaint = run_rank(session, context.rank, model, together, figures);
          if (!complaint.empty()) together.arrive_and_drop();
          return complaint;
        });
    if (!bad.empty()) return std::fprintf(stderr, "%s: %s\n", codec.c_str(), bad.c_str()), 1;
    std::printf("| `%s` | %.2f | %.0f | %.1f | %.0f | %.3f | %llu |\n", codec.c_str(), 1e3 * median(figures.steps),
                1e6 * median(figures.submits), 1e6 * median(figures.firsts), figures.launches, 1e3 * figures.kernels,
                static_cast<unsigned long long>(figures.forbidden));
    std::fflush(stdout);
    if (figures.forbidden == 0) continue;
    std::fprintf(stderr, "%s, %s: steady steps allocate, synchronize or make events, streams or modules\n",
                 model.name.c_str(), codec.c_str());
    failed = 1;
  }
  return failed;
}

}  // namespace

const DriverApi& gpu_driver() { return Watch::only().driver(); }

Result<std::unique_ptr<runtime::Device>> open_gpu(const std::string&) { return open_on(gpu_driver()); }

}  // namespace casync::test

int main(int count, char** arguments) {
  if (const auto driver = casync::compll::find_driver(); !driver) {
    std::fprintf(stderr, "%s\n", driver.status().text().c_str());
    return casync::test::kSkipped;
  }
  const auto model = casync::read_model_file(count > 1 ? arguments[1] : "examples/models/resnet50.txtpb");
  if (!model) {
    std::fprintf(stderr, "%s\n", model.status().text().c_str());
    return 1;
  }
  std::vector<std::string> codecs(arguments + std::min(count, 2), arguments + count);
  if (codecs.empty()) codecs = {"none", "int8", "int4", "onebit", "topk"};
  const int first = casync::test::run(casync::test::one_gradient(), codecs);
  const int second = casync::test::run(*model, codecs);
  return first != 0 ? first : second;
}
