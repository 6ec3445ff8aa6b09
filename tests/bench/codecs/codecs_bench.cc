// SPDX-License-Identifier: Apache-2.0
// codecs_bench [codec[:parameter=number,...]...]: compares each codec's time with a copy of as many bytes, on one core.
// codecs_bench --pairs [codec...]: compares generated codecs with loops that are written by hand, where there are
// any. Both print a table in Markdown. Pin it: taskset -c 1 codecs_bench.
#include <cstdio>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "casync/model/codec_choice.h"
#include "tests/bench/codecs/pairs.h"
#include "tools/measure/bench_codec.h"

namespace casync::tools {
namespace {

std::string first_line_with(const char* file, const std::string& start) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    if (line.compare(0, start.size(), start) == 0) return line;
  }
  return "";
}

void print_cell(const OperationTime& operation, double copy, Elements total) {
  const double speed = gigabytes_per_second(operation, total);
  std::printf(" %.2f B, %.1f GB/s, %.0f %% |", operation.bytes_per_element, speed, 100 * speed / copy);
}

Result<std::unique_ptr<compll::Codec>> codec_of(const std::string& text) {
  const Result<CodecChoice> choice = parse_codec_choice(text);
  if (!choice) return choice.status();
  return compll::make_codec(choice->name, choice->parameters);
}

int print_table(const std::vector<std::string>& names, const CodecBenchOptions& options) {
  // The faster of two copies counts, one first and one last: others share the machine, and the copy is the unit of all.
  const OperationTime before = measure_copy(options);
  std::vector<CodecBenchResult> results;
  for (const std::string& name : names) {
    const auto codec = codec_of(name);
    if (!codec.is_ok()) {
      std::fprintf(stderr, "%s\n", codec.status().text().c_str());
      return 2;
    }
    results.push_back(measure_codec(**codec, options));
    results.back().codec = name;
  }
  const OperationTime after = measure_copy(options);
  const double copy = gigabytes_per_second(after.seconds < before.seconds ? after : before, options.total);
  std::printf("\n%zu elements in partitions of %zu; copying: %.1f GB/s read and written, adding two: %.1f\n\n",
              options.total, options.partition, copy, gigabytes_per_second(measure_sum(options), options.total));
  std::printf("| codec | bits | error | encode | decode | merge of %d |\n|---|---|---|---|---|---|\n", options.merged);
  for (const CodecBenchResult& result : results) {
    std::printf("| %s | %.2f | %.2g |", result.codec.c_str(), result.payload_bits, result.error);
    for (const OperationTime& operation : {result.encode, result.decode, result.merge}) {
      print_cell(operation, copy, options.total);
    }
    std::printf("\n");
  }
  return 0;
}

int run(std::vector<std::string> names) {
  if (names.empty()) names = compll::codec_names();
  std::printf("%s; load average %s\n", first_line_with("/proc/cpuinfo", "model name").c_str(),
              first_line_with("/proc/loadavg", "").c_str());
  CodecBenchOptions options;
  for (Elements partition : {Elements{1} << 24, Elements{1} << 20}) {
    options.partition = partition;
    if (const int code = print_table(names, options); code != 0) return code;
  }
  options.total = options.partition;  // the whole model stays in the last-level cache
  return print_table(names, options);
}

}  // namespace
}  // namespace casync::tools

int main(int argc, char** argv) {
  std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.empty() || arguments.front() != "--pairs") return casync::tools::run(arguments);
  arguments.erase(arguments.begin());
  return casync::tools::print_pairs(arguments);
}
