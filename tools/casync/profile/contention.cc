// SPDX-License-Identifier: Apache-2.0
#include "tools/casync/profile/contention.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <thread>

#include "base/clock.h"
#include "casync/model/codec_choice.h"
#include "compll/codec/codec.h"
#include "compll/codec/rounds_codec.h"
#include "tools/casync/profile/processors.h"
#include "tools/casync/profile/training_load.h"
#include "tools/measure/bench_codec.h"

namespace casync::tools {
namespace {

constexpr Elements kPartition = Elements{1} << 18;  // as plans have it when they say nothing
constexpr Elements kTotal = Elements{1} << 20;
constexpr double kThreadsStart = 0.01;  // until threads have started and spread over processors

void sleep_for(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }

/// Seconds of one pass, over as many as fit into `seconds`.
template <class Pass>
double each(double seconds, const Pass& pass) {
  const Clock::time_point begin = Clock::now();
  int passes = 0;
  do {
    pass();
    ++passes;
  } while (seconds_since(begin) < seconds);
  return seconds_since(begin) / passes;
}

class ContentionRun {
 public:
  explicit ContentionRun(const ContentionOptions& options)
      : options_(options), threads_(static_cast<int>(std::max<std::size_t>(1, options.processors.size()))) {}

  Result<MeasuredContention> run() {
    const StayOn own(options_.processors);
    for (const std::string& name : options_.codecs) CASYNC_RETURN_IF_ERROR(codec(name));
    MeasuredContention made;
    made.each = {slowdown_of("encode", encode_), slowdown_of("merge", merge_), slowdown_of("decode", decode_),
                 slowdown_of("training", training_)};
    made.contention = {made.each[3].times, made.each[0].times, made.each[1].times, made.each[2].times};
    return made;
  }

 private:
  Status codec(const std::string& name) {
    const Result<CodecChoice> choice = parse_codec_choice(name);
    if (!choice) return choice.status();
    if (compll::has_rounds(choice->name)) return Status::ok();  // its turns are of another kind than the others
    const Result<std::unique_ptr<compll::Codec>> codec = compll::make_codec(choice->name, choice->parameters);
    if (!codec) return codec.status();
    if ((*codec)->info().identity) return Status::ok();
    options_.progress("during training: " + name);
    CodecBenchOptions bench;
    bench.partition = kPartition;
    bench.total = kTotal;
    CodecPasses passes(**codec, bench);
    encode_.push_back(beside_training([&] { passes.encode(); }));
    merge_.push_back(beside_training([&] { passes.merge(); }));
    decode_.push_back(beside_training([&] { passes.decode(); }));
    return Status::ok();
  }

  /// The operation alone, training alone, and both together, in turns.
  template <class Pass>
  std::vector<Beside> beside_training(const Pass& pass) {
    std::vector<Beside> rounds;
    training_.emplace_back();
    for (int round = 0; round < options_.rounds; ++round) {
      Beside operation, training;
      operation.alone_s = each(options_.seconds, pass);
      const TrainingLoad load(threads_);
      sleep_for(kThreadsStart);
      training.alone_s = layer_seconds(load, [&] { sleep_for(options_.seconds); });
      training.beside_s = layer_seconds(load, [&] { operation.beside_s = each(options_.seconds, pass); });
      rounds.push_back(operation);
      training_.back().push_back(training);
    }
    return rounds;
  }

  template <class Meanwhile>
  static double layer_seconds(const TrainingLoad& load, const Meanwhile& meanwhile) {
    const double before = load.layers();
    const Clock::time_point begin = Clock::now();
    meanwhile();
    const double seconds = seconds_since(begin);
    return seconds / std::max(1.0, load.layers() - before);
  }

  const ContentionOptions& options_;
  int threads_;
  std::vector<std::vector<Beside>> encode_, merge_, decode_, training_;  ///< rounds of each codec and operation
};

}  // namespace

Result<MeasuredContention> measure_contention(const ContentionOptions& options) { return ContentionRun(options).run(); }

}  // namespace casync::tools
