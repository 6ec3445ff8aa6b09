// SPDX-License-Identifier: Apache-2.0
// casync bench: tables with the columns of the usual collective benchmarks.
#include <memory>

#include "base/env.h"
#include "casync/model/codec_choice.h"
#include "casync/strategies/strategy.h"
#include "compll/codec/rounds_codec.h"
#include "runtime/control/launch/launch.h"
#include "runtime/transport/transport.h"
#include "tools/casync/bench/all_reduce.h"
#include "tools/casync/bench/codec_table.h"
#include "tools/casync/bench/sizes.h"
#include "tools/casync/bench/step.h"
#include "tools/casync/bench/transport_table.h"
#include "tools/casync/exit_code.h"
#include "tools/casync/launch/job.h"
#include "tools/casync/number_within.h"
#include "tools/casync/own_path.h"
#include "tools/casync/subcommands.h"

namespace casync::tools {
namespace {

/// The options of both tables that the command line gives as text.
struct SizeFlags {
  std::string first, last;
  int factor = 4;
  bool json = false, csv = false;
  Format format() const { return json ? Format::kJson : csv ? Format::kCsv : Format::kText; }
};

std::shared_ptr<SizeFlags> add_sizes(CLI::App* command, const char* first, const char* last) {
  auto flags = std::make_shared<SizeFlags>(SizeFlags{first, last});
  command->add_option("-b,--min-bytes", flags->first, "Smallest size, as in 4096, 64K or 1M")->capture_default_str();
  command->add_option("-e,--max-bytes", flags->last, "Largest size")->capture_default_str();
  command->add_option("-f,--factor", flags->factor, "Ratio of a size to the previous one")->capture_default_str();
  CLI::Option* json = command->add_flag("--json", flags->json, "Print one JSON object at the end");
  command->add_flag("--csv", flags->csv, "Print comma-separated values")->excludes(json);
  return flags;
}

int usage(const Status& status) { return fail_usage("bench", status.message()); }

/// InvalidArgument: so many ranks, a process each, cannot meet by this transport.
Status check_joins(const std::string& transport, int ranks) {
  return ranks > 1 ? runtime::check_joins_processes(transport) : Status::ok();
}

/// Runs this same command line as the ranks of a job of its own.
int run_as_ranks(const std::vector<std::string>& arguments, int ranks) {
  const Result<std::string> program = own_path();
  if (!program) return fail("bench", program.status());
  JobOptions job;
  job.ranks = ranks;
  job.prefix = false;
  job.program.push_back(*program);
  job.program.insert(job.program.end(), arguments.begin(), arguments.end());
  const Result<JobEnd> end = run_job(job);
  return end ? end->exit_code : fail("bench", end.status());
}

struct AllReduceFlags {
  AllReduceOptions options;
  std::string codec = "none", strategy;
  int ranks = 2, check = 1;
};

int all_reduce(AllReduceFlags& flags, const SizeFlags& sizes, const std::vector<std::string>& arguments) {
  Result<std::vector<Bytes>> list = parse_sizes(sizes.first, sizes.last, sizes.factor);
  if (!list) return usage(list.status());
  if (list->front() < sizeof(float)) {
    return usage(invalid_argument("--min-bytes " + sizes.first + ", expected at least 4: one float32"));
  }
  const Result<CodecChoice> codec = parse_codec_choice(flags.codec);
  if (!codec) return usage(codec.status());
  if (!flags.strategy.empty()) {
    const Result<StrategyKind> strategy = strategy_from(flags.strategy);
    if (!strategy) return usage(strategy.status());
    flags.options.strategy = *strategy;
  }
  if (compll::has_rounds(codec->name)) {
    return fail("bench", invalid_argument("all_reduce cannot run " + codec->name +
                                          ", which exchanges several times in a step: use `casync bench step` with a "
                                          "plan that names it"));
  }
  const Result<std::optional<double>> timeout = env_number("CASYNC_TIMEOUT_SEC");
  if (!timeout) return fail("bench", timeout.status());
  AllReduceOptions& options = flags.options;
  if (options.transport.empty()) options.transport = env_text("CASYNC_TRANSPORT").value_or("ucx");
  if (options.timeout_s == 0) options.timeout_s = timeout->value_or(300);
  options.trace_directory = env_text("CASYNC_TRACE").value_or("");
  flags.options.sizes = std::move(*list);
  flags.options.codec = *codec;
  flags.options.check = flags.check != 0;
  flags.options.format = sizes.format();
  const Result<runtime::Launch> launch = runtime::read_launch({}, foreign_env_text);
  if (!launch) return fail("bench", launch.status());
  const bool alone = launch->source == "alone";
  const Status joins = check_joins(options.transport, alone ? flags.ranks : launch->ranks);
  if (!joins) return fail_on_rank("bench", joins, launch->rank, launch->local_rank);
  if (alone) return run_as_ranks(arguments, flags.ranks);
  const Result<bool> right = bench_all_reduce(flags.options);
  if (!right) return fail_on_rank("bench", right.status(), launch->rank, launch->local_rank);
  return *right ? kExitOk : kExitFailure;
}

void add_all_reduce(CLI::App* bench, Invocation& invocation) {
  auto flags = std::make_shared<AllReduceFlags>();
  CLI::App* command =
      bench->add_subcommand("all_reduce", "Average float32 gradients of growing size, and check the results");
  const auto sizes = add_sizes(command, "64K", "16M");
  AllReduceOptions& options = flags->options;
  command->add_option("-n,--iterations", options.iterations, "Measured iterations for each size")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  command->add_option("-w,--warm-up", options.warm_up, "Unmeasured iterations at the start")
      ->check(CLI::Range(0, 1000000))
      ->capture_default_str();
  command->add_option("-r,--ranks", flags->ranks, "Local ranks to start, if no launcher has started this one")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  CLI::Option* codec = command->add_option("--codec", flags->codec, "Codec, as in int4 or int4:block=64,feedback=0")
                           ->capture_default_str();
  CLI::Option* strategy = command->add_option("--strategy", flags->strategy, strategy_names() + " (default: ps)");
  command
      ->add_option("--plan", options.plan_file,
                   "Plan file, instead of codec and strategy; the gradients are called bench.BYTES")
      ->excludes(codec)
      ->excludes(strategy);
  command->add_option("--transport", options.transport,
                      runtime::transport_names() + " (default: CASYNC_TRANSPORT, else ucx)");
  command->add_option("-c,--check", flags->check, "0 leaves out the check of the results")
      ->check(CLI::Range(0, 1))
      ->capture_default_str();
  command
      ->add_option("--timeout", options.timeout_s,
                   "Limit of each wait, in seconds (default: CASYNC_TIMEOUT_SEC, else 300)")
      ->check(number_within(0.001, 1e6));
  command->footer(
      "Under a launcher, as in `casync run -n 4 -- casync bench all_reduce`, rank 0 prints the figures of its ranks.");
  command->callback([=, &invocation] { invocation.exit_code = all_reduce(*flags, *sizes, invocation.arguments); });
}

struct CodecFlags {
  CodecBenchOptions options;
  std::string partition = "64M", total = "64M";
  std::vector<std::string> codecs;
  bool json = false, csv = false;
};

int codec(CodecFlags& flags) {
  const Result<Bytes> partition = parse_bytes(flags.partition), total = parse_bytes(flags.total);
  for (const Result<Bytes>* size : {&partition, &total}) {
    if (!*size) return usage(size->status());
  }
  if (*partition < sizeof(float) || *total < *partition) {
    return usage(invalid_argument("--partition " + flags.partition + " of --total " + flags.total +
                                  ", expected at least 4 bytes, one float32, and at most the total"));
  }
  flags.options.partition = *partition / sizeof(float);
  flags.options.total = *total / sizeof(float);
  if (flags.codecs.empty()) flags.codecs = compll::codec_names();
  const Format format = flags.json ? Format::kJson : flags.csv ? Format::kCsv : Format::kText;
  const Status status = print_codec_bench(flags.codecs, flags.options, format);
  return status.is_ok() ? kExitOk : fail("bench", status);
}

void add_codec_bench(CLI::App* bench, Invocation& invocation) {
  auto flags = std::make_shared<CodecFlags>();
  CLI::App* command =
      bench->add_subcommand("codec", "Measure encode, decode and merge on one core, and compare them with a copy");
  command->add_option("codecs", flags->codecs, "Codecs, as in int4 or int4:block=64 (default: all)");
  command->add_option("--partition", flags->partition, "Bytes of float32 in each partition")->capture_default_str();
  command->add_option("--total", flags->total, "Bytes of float32 in all partitions")->capture_default_str();
  command->add_option("--merged", flags->options.merged, "Number of codes in a merge")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  command->add_option("--seconds", flags->options.seconds, "Seconds of each measurement")
      ->check(number_within(0.001, 60.0))
      ->capture_default_str();
  CLI::Option* json = command->add_flag("--json", flags->json, "Print one JSON object at the end");
  command->add_flag("--csv", flags->csv, "Print comma-separated values")->excludes(json);
  command->callback([=, &invocation] { invocation.exit_code = codec(*flags); });
}

void add_transport(CLI::App* bench, Invocation& invocation) {
  auto options = std::make_shared<TransportBenchOptions>();
  auto no_checksum = std::make_shared<bool>(false);
  CLI::App* command =
      bench->add_subcommand("transport", "Measure latency and bandwidth between two processes on this machine");
  const auto sizes = add_sizes(command, "1K", "64M");
  command->add_option("--transport", options->transport, runtime::transport_names())->capture_default_str();
  command->add_option("--interface", options->interface_name, "Network interface, such as eth0");
  command->add_option("--seconds", options->seconds_per_size, "Seconds of each measurement of a size")
      ->check(number_within(0.001, 60.0))
      ->capture_default_str();
  command->add_flag("--no-checksum", *no_checksum, "Leave out the checksum of each payload");
  command->callback([=, &invocation] {
    Result<std::vector<Bytes>> list = parse_sizes(sizes->first, sizes->last, sizes->factor);
    if (!list) {
      invocation.exit_code = usage(list.status());
      return;
    }
    options->sizes = std::move(*list);
    options->checksum = !*no_checksum;
    const Status status = print_transport_bench(*options, sizes->format());
    invocation.exit_code = status.is_ok() ? kExitOk : fail("bench", status);
  });
}

struct StepFlags {
  StepBenchOptions options;
  int ranks = 2;
  bool json = false, csv = false;
};

int step(StepFlags& flags, const std::vector<std::string>& arguments) {
  StepBenchOptions& options = flags.options;
  const Result<std::optional<double>> timeout = env_number("CASYNC_TIMEOUT_SEC");
  if (!timeout) return fail("bench", timeout.status());
  if (options.transport.empty()) options.transport = env_text("CASYNC_TRANSPORT").value_or("ucx");
  if (options.timeout_s == 0) options.timeout_s = timeout->value_or(300);
  if (options.plans.empty()) options.plans.emplace_back();
  options.trace_directory = env_text("CASYNC_TRACE").value_or("");
  options.record_directory = env_text("CASYNC_RECORD").value_or("");
  options.format = flags.json ? Format::kJson : flags.csv ? Format::kCsv : Format::kText;
  const Result<runtime::Launch> launch = runtime::read_launch({}, foreign_env_text);
  if (!launch) return fail("bench", launch.status());
  const bool alone = launch->source == "alone";
  const Status joins = check_joins(options.transport, alone ? flags.ranks : launch->ranks);
  if (!joins) return fail_on_rank("bench", joins, launch->rank, launch->local_rank);
  if (alone) return run_as_ranks(arguments, flags.ranks);
  const Status status = bench_step(options);
  return status.is_ok() ? kExitOk : fail_on_rank("bench", status, launch->rank, launch->local_rank);
}

void add_step(CLI::App* bench, Invocation& invocation) {
  auto flags = std::make_shared<StepFlags>();
  CLI::App* command =
      bench->add_subcommand("step", "Run the steps of a described training; ranks wait instead of computing");
  StepBenchOptions& options = flags->options;
  command
      ->add_option("--model", options.model,
                   "Gradients, and when they are ready and needed (CASYNC_RECORD, examples/models)")
      ->required();
  command->add_option("--plan", options.plans, "Plan files, one row each (default: nothing is compressed)");
  command->add_option("--profile", options.profile, "Profile to predict each row from");
  command->add_option("--seconds", options.seconds, "Seconds of measurement for each plan")
      ->check(number_within(0.001, 3600.0))
      ->capture_default_str();
  command->add_option("-w,--warm-up", options.warm_up, "Unmeasured steps at the start")
      ->check(CLI::Range(0, 1000000))
      ->capture_default_str();
  command->add_option("-r,--ranks", flags->ranks, "Local ranks to start, if no launcher has started this one")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  command->add_option("--transport", options.transport,
                      runtime::transport_names() + " (default: CASYNC_TRANSPORT, else ucx)");
  command
      ->add_option("--timeout", options.timeout_s,
                   "Limit of each wait, in seconds (default: CASYNC_TIMEOUT_SEC, else 300)")
      ->check(number_within(0.001, 1e6));
  CLI::Option* json = command->add_flag("--json", flags->json, "Print one JSON object at the end");
  command->add_flag("--csv", flags->csv, "Print comma-separated values")->excludes(json);
  command->callback([=, &invocation] { invocation.exit_code = step(*flags, invocation.arguments); });
}

}  // namespace

void add_bench(CLI::App& app, Invocation& invocation) {
  CLI::App* command = app.add_subcommand("bench", "Measure all-reduce, steps, codecs and transports on this machine");
  command->require_subcommand(1);
  add_all_reduce(command, invocation);
  add_step(command, invocation);
  add_codec_bench(command, invocation);
  add_transport(command, invocation);
}

}  // namespace casync::tools
