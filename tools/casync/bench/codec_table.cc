// SPDX-License-Identifier: Apache-2.0
#include "tools/casync/bench/codec_table.h"

#include <cstdio>
#include <memory>

#include "casync/model/codec_choice.h"
#include "tools/casync/this_machine.h"

namespace casync::tools {
namespace {

using compll::Codec;

std::string about_copy(double copy_gb_s) {
  char text[120];
  std::snprintf(text, sizeof(text),
                "one core; copy: %.2f GB/s; of copy: the bytes an operation must move, at that speed", copy_gb_s);
  return text;
}

std::vector<Column> columns_of(int merged) {
  return {{"codec", "codec", 16},           {"payload_bits", "bits/el", 8},
          {"error", "nmse", 9, 5},          {"encode_gb_s", "encode(GB/s)", 12},
          {"encode_of_copy", "of copy", 8}, {"decode_gb_s", "decode(GB/s)", 12},
          {"decode_of_copy", "of copy", 8}, {"merge_gb_s", "merge" + std::to_string(merged) + "(GB/s)", 12},
          {"merge_of_copy", "of copy", 8}};
}

}  // namespace

Status print_codec_bench(const std::vector<std::string>& codecs, const CodecBenchOptions& options, Format format) {
  std::vector<std::unique_ptr<Codec>> made;
  for (const std::string& text : codecs) {
    const Result<CodecChoice> choice = parse_codec_choice(text);
    CASYNC_RETURN_IF_ERROR(choice.status());
    Result<std::unique_ptr<Codec>> codec = compll::make_codec(choice.value().name, choice.value().parameters);
    CASYNC_RETURN_IF_ERROR(codec.status());
    made.push_back(std::move(*codec));
  }
  const double copy = gigabytes_per_second(measure_copy(options), options.total);
  std::vector<std::string> about = about_this_machine();
  about.push_back(std::to_string(options.total) + " float32 in partitions of " + std::to_string(options.partition));
  about.push_back(about_copy(copy));
  Table table(format, about, columns_of(options.merged));
  for (std::size_t i = 0; i < made.size(); ++i) {
    const CodecBenchResult result = measure_codec(*made[i], options);
    std::vector<nlohmann::ordered_json> row{codecs[i], result.payload_bits, result.error};
    for (const OperationTime* operation : {&result.encode, &result.decode, &result.merge}) {
      const double speed = gigabytes_per_second(*operation, options.total);
      row.insert(row.end(), {speed, copy > 0 ? speed / copy : 0.0});
    }
    table.add(std::move(row));
  }
  table.end();
  return Status::ok();
}

}  // namespace casync::tools
