// SPDX-License-Identifier: Apache-2.0
#include "tools/casync/planning/gradient_samples.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string_view>

#include "base/nearest.h"
#include "casync/patterns/sampled.h"
#include "compll/ops/cpu/convert.h"

namespace casync::tools {
namespace {

using nlohmann::json;

constexpr std::uint64_t kMostFileBytes = std::uint64_t{4} << 30, kMostHeaderBytes = std::uint64_t{64} << 20;
constexpr std::uint64_t kLengthBytes = 8;
constexpr int kDeepest = 3;  // an object of objects that have arrays

/// One tensor, as the header has it; its place checked.
struct Tensor {
  DType dtype = DType::kFloat32;
  Elements elements = 0;
  std::uint64_t begin = 0;  ///< in the data
};

std::optional<DType> dtype_of(const json& tensor) {
  const auto found = tensor.find("dtype");
  if (found == tensor.end() || !found->is_string()) return std::nullopt;
  if (*found == "F32") return DType::kFloat32;
  if (*found == "F16") return DType::kFloat16;
  if (*found == "BF16") return DType::kBFloat16;
  return std::nullopt;
}

/// Returns nullopt if it is not an array of `count` integers from 0 on; `count` empty: of any number.
std::optional<std::vector<std::uint64_t>> integers_of(const json& tensor, const char* field,
                                                      std::optional<std::size_t> count) {
  const auto found = tensor.find(field);
  if (found == tensor.end() || !found->is_array() || (count && found->size() != *count)) return std::nullopt;
  std::vector<std::uint64_t> integers;
  for (const json& one : *found) {
    if (!one.is_number_unsigned()) return std::nullopt;
    integers.push_back(one.get<std::uint64_t>());
  }
  return integers;
}

/// Returns nullopt if the product is more than a file has room for.
std::optional<Elements> product(const std::vector<std::uint64_t>& shape) {
  Elements elements = 1;
  for (const std::uint64_t extent : shape) {
    if (extent > 0 && elements > kMostFileBytes / extent) return std::nullopt;
    elements *= extent;
  }
  return elements;
}

std::string shown(const json& tensor, const char* field) {
  constexpr std::size_t kShown = 60;
  const auto found = tensor.find(field);
  if (found == tensor.end()) return "nothing";
  const std::string text = found->dump(-1, ' ', true, json::error_handler_t::replace);
  return text.size() <= kShown ? text : text.substr(0, kShown) + "...";
}

Result<Tensor> tensor_of(const json& entry, std::uint64_t data_bytes) {
  if (!entry.is_object()) return invalid_argument("expected an object with dtype, shape and data_offsets");
  const std::optional<DType> dtype = dtype_of(entry);
  if (!dtype) return invalid_argument("dtype is " + shown(entry, "dtype") + ", expected F32, F16 or BF16");
  const auto shape = integers_of(entry, "shape", {});
  const std::optional<Elements> elements = shape ? product(*shape) : std::nullopt;
  if (!elements) {
    return invalid_argument("shape is " + shown(entry, "shape") +
                            ", expected an array of extents from 0 on, and at most 2^32 elements");
  }
  const auto offsets = integers_of(entry, "data_offsets", 2);
  if (!offsets || (*offsets)[0] > (*offsets)[1] || (*offsets)[1] > data_bytes) {
    return invalid_argument("data_offsets are " + shown(entry, "data_offsets") + ", expected a begin and an end in " +
                            std::to_string(data_bytes) + " bytes of data");
  }
  const std::uint64_t bytes = (*offsets)[1] - (*offsets)[0];
  if (bytes != *elements * bytes_of(*dtype)) {
    return invalid_argument("shape " + shown(entry, "shape") + " of " + shown(entry, "dtype") + " takes " +
                            std::to_string(*elements * bytes_of(*dtype)) + " bytes, and data_offsets have " +
                            std::to_string(bytes));
  }
  return Tensor{*dtype, *elements, (*offsets)[0]};
}

/// An open file and its header. Errors do not name the path.
class SamplesFile {
 public:
  Status open(const std::string& path) {
    std::error_code failed;
    const std::filesystem::file_status status = std::filesystem::status(path, failed);
    if (status.type() == std::filesystem::file_type::not_found) return invalid_argument("no such file");
    if (failed) return invalid_argument(failed.message());
    if (!std::filesystem::is_regular_file(status)) return invalid_argument("not a file");
    const std::uint64_t size = std::filesystem::file_size(path, failed);
    if (failed) return invalid_argument(failed.message());
    if (size > kMostFileBytes) return invalid_argument(std::to_string(size) + " bytes, expected at most 4 GiB");
    stream_.open(path, std::ios::binary);
    if (!stream_) return invalid_argument("cannot be read (permissions?)");
    return read_header(size);
  }

  const std::map<std::string, Tensor>& tensors() const { return tensors_; }

  /// All of it, or the sample of it. InvalidArgument: NaN or infinity.
  Result<std::vector<float>> sample(const Tensor& tensor) {
    std::vector<float> values(sampled_elements(tensor.elements));
    std::vector<std::byte> piece(kSampledPiece * bytes_of(tensor.dtype));
    for_each_sampled(tensor.elements, [&](Elements first, Elements count, Elements at) {
      const Bytes element = bytes_of(tensor.dtype);
      stream_.seekg(static_cast<std::streamoff>(data_at_ + tensor.begin + first * element));
      stream_.read(reinterpret_cast<char*>(piece.data()), static_cast<std::streamsize>(count * element));
      compll::to_float32(tensor.dtype, piece.data(), count, values.data() + at);
    });
    if (!stream_) return invalid_argument("the file became shorter while it was read");
    const auto odd = std::find_if(values.begin(), values.end(), [](float value) { return !std::isfinite(value); });
    if (odd != values.end()) {
      return invalid_argument("element " + std::to_string(odd - values.begin()) + " of its sample is " +
                              (std::isnan(*odd) ? "NaN" : "infinite"));
    }
    return values;
  }

 private:
  Status read_header(std::uint64_t size) {
    std::uint64_t length = 0;
    std::array<unsigned char, kLengthBytes> bytes{};
    stream_.read(reinterpret_cast<char*>(bytes.data()), kLengthBytes);
    for (std::size_t i = 0; i < kLengthBytes; ++i) length |= std::uint64_t{bytes[i]} << (8 * i);
    if (!stream_) return invalid_argument("cut off: " + std::to_string(size) + " bytes, expected the header's length");
    if (length > kMostHeaderBytes) {
      return invalid_argument("a header of " + std::to_string(length) +
                              " bytes, expected at most 64 MiB: not safetensors");
    }
    if (length > size - kLengthBytes) {
      return invalid_argument("cut off: a header of " + std::to_string(length) + " bytes in a file of " +
                              std::to_string(size));
    }
    std::string text(length, '\0');
    if (!stream_.read(text.data(), static_cast<std::streamsize>(length))) return invalid_argument("cannot be read");
    data_at_ = kLengthBytes + length;
    return read_tensors(text, size - data_at_);
  }

  Status read_tensors(const std::string& text, std::uint64_t data_bytes) {
    json header;
    try {
      header = json::parse(text, [](int depth, json::parse_event_t, json&) { return depth <= kDeepest; });
    } catch (const json::parse_error& error) {
      return invalid_argument("the header is no JSON, at its byte " + std::to_string(error.byte));
    } catch (const json::exception& error) {  // a number beyond all
      return invalid_argument(std::string("the header is no JSON: ") + error.what());
    }
    if (!header.is_object()) return invalid_argument("the header is no JSON object");
    for (const auto& [name, entry] : header.items()) {
      if (name == "__metadata__") continue;
      const Result<Tensor> tensor = tensor_of(entry, data_bytes);
      if (!tensor) return invalid_argument("tensor `" + name + "`: " + tensor.status().message());
      tensors_.emplace(name, *tensor);
    }
    return Status::ok();
  }

  std::ifstream stream_;
  std::uint64_t data_at_ = 0;
  std::map<std::string, Tensor> tensors_;
};

std::string counted(std::size_t count, const char* one, const char* several) {
  return std::to_string(count) + " " + (count == 1 ? one : several);
}

/// Remarks on samples that belong to no gradient, and on gradients without a sample.
std::vector<std::string> remarks_on(const SamplesFile& file, const Training& training, const GradientSamples& samples) {
  std::vector<std::string_view> names;
  for (const TrainedGradient& gradient : training.gradients) names.emplace_back(gradient.spec.name);
  const std::set<std::string_view> known(names.begin(), names.end());
  std::vector<std::string> strangers, without;
  for (const auto& [name, tensor] : file.tensors()) {
    if (!known.contains(name)) strangers.push_back(name);
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (samples.values[i].empty()) without.emplace_back(names[i]);
  }
  std::vector<std::string> remarks;
  if (!strangers.empty()) {
    remarks.push_back(counted(strangers.size(), "sample is", "samples are") + " of no gradient of the model: `" +
                      strangers.front() + "`" + hint(strangers.front(), names));
  }
  if (!without.empty()) {
    remarks.push_back(counted(without.size(), "gradient has", "gradients have") + " no sample, as `" + without.front() +
                      "`: what codecs lose of typical values counts there");
  }
  return remarks;
}

Status take_samples(SamplesFile& file, const Training& training, GradientSamples& samples) {
  for (const TrainedGradient& gradient : training.gradients) {
    std::vector<float>& values = samples.values.emplace_back();
    const auto found = file.tensors().find(gradient.spec.name);
    if (found == file.tensors().end()) continue;
    const Tensor& tensor = found->second;
    const auto refused = [&](const std::string& why) {
      return invalid_argument("tensor `" + gradient.spec.name + "`: " + why);
    };
    if (tensor.elements > gradient.spec.elements()) {
      return refused(std::to_string(tensor.elements) + " elements, and the model's gradient has " +
                     std::to_string(gradient.spec.elements()));
    }
    Result<std::vector<float>> sample = file.sample(tensor);
    if (!sample) return refused(sample.status().message());
    const bool zeros = std::all_of(sample->begin(), sample->end(), [](float value) { return value == 0; });
    if (!zeros) values = std::move(*sample);
  }
  return Status::ok();
}

}  // namespace

Result<GradientSamples> read_gradient_samples(const std::string& path, const Training& training) {
  SamplesFile file;
  GradientSamples samples;
  Status status = file.open(path);
  if (status.is_ok()) status = take_samples(file, training, samples);
  if (!status) return Status(status.code(), path + ": " + status.message());
  for (std::string& remark : remarks_on(file, training, samples)) samples.remarks.push_back(path + ": " + remark);
  return samples;
}

}  // namespace casync::tools
