// SPDX-License-Identifier: Apache-2.0
//
// A codec in C, without a session: for the Python class and for tests of other languages.
#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <vector>

#include "compll/codec/codec_json.h"
#include "compll/codec/element_limit.h"
#include "compll/codec/registry.h"
#include "compll/codec/rounds_codec.h"
#include "plugins/c_api/error.h"
#include "plugins/c_api/options.h"
#include "plugins/c_api/text.h"

using namespace casync;         // NOLINT: this file is the seam
using namespace casync::c_api;  // NOLINT

/// A codec of either kind: one of the two pointers is set.
struct casync_codec {
  std::unique_ptr<compll::Codec> codec;
  std::unique_ptr<compll::RoundsCodec> rounds;

  const compll::CodecInfo& info() const { return codec ? codec->info() : rounds->info(); }
};

namespace {

Status need_codec(const casync_codec* codec) {
  CASYNC_RETURN_IF_ERROR(need(codec, "codec"));
  if (codec->codec) return Status::ok();
  return invalid_argument(
      "codec `" + codec->rounds->info().name +
      "` adds up what it sends over all ranks between its rounds: it runs in a session, and encodes "
      "nothing by itself");
}

Status check_capacity(const casync_codec* codec, std::size_t elements, const void* payload, std::size_t capacity) {
  CASYNC_RETURN_IF_ERROR(need_codec(codec));
  CASYNC_RETURN_IF_ERROR(compll::check_elements(codec->codec->info(), elements));
  CASYNC_RETURN_IF_ERROR(need_array(payload, capacity, "payload"));
  const Bytes bound = codec->codec->encoded_bound(elements);
  if (capacity >= bound) return Status::ok();
  return invalid_argument("`capacity` is " + std::to_string(capacity) + ", " + codec->codec->info().name + " needs " +
                          std::to_string(bound) + " bytes for " + std::to_string(elements) +
                          " elements (casync_codec_bound)");
}

/// Refuses buffers that overlap: an encoder would read its own output, and give wrong results without a trace.
Status apart(const void* a, std::size_t a_bytes, const void* b, std::size_t b_bytes, const char* names) {
  const auto* first = static_cast<const std::byte*>(a);
  const auto* second = static_cast<const std::byte*>(b);
  const std::less<const std::byte*> before;
  const bool overlap = a_bytes > 0 && b_bytes > 0 && before(first, second + b_bytes) && before(second, first + a_bytes);
  return overlap ? invalid_argument(std::string(names) + " overlap") : Status::ok();
}

Status check_payload(const compll::Codec& codec, const void* payload, std::size_t bytes, std::size_t elements) {
  return codec.check({static_cast<const std::byte*>(payload), bytes}, elements);
}

/// The floats of a codec's state for so many elements; a residual may be given to any codec.
std::size_t kept_floats(const casync_codec* codec, std::size_t elements) {
  return std::max<std::size_t>(codec->codec->info().states, 1) * elements;
}

struct EncodeArguments {
  const float* in;
  std::size_t elements;
  const float* residual_in;
  float* residual_out;
  void* payload;
  std::size_t capacity;
};

Status check_encode(const casync_codec* codec, const EncodeArguments& a) {
  CASYNC_RETURN_IF_ERROR(check_capacity(codec, a.elements, a.payload, a.capacity));
  CASYNC_RETURN_IF_ERROR(need_array(a.in, a.elements, "in"));
  if ((a.residual_in == nullptr) != (a.residual_out == nullptr)) {
    return invalid_argument("residual_in and residual_out belong together: only one of them is set");
  }
  const std::size_t bytes = a.elements * sizeof(float);
  const std::size_t residual_bytes = a.residual_in == nullptr ? 0 : kept_floats(codec, a.elements) * sizeof(float);
  CASYNC_RETURN_IF_ERROR(apart(a.in, bytes, a.payload, a.capacity, "in and payload"));
  CASYNC_RETURN_IF_ERROR(apart(a.in, bytes, a.residual_out, residual_bytes, "in and residual_out"));
  CASYNC_RETURN_IF_ERROR(
      apart(a.residual_in, residual_bytes, a.residual_out, residual_bytes, "residual_in and residual_out"));
  CASYNC_RETURN_IF_ERROR(apart(a.residual_in, residual_bytes, a.payload, a.capacity, "residual_in and payload"));
  return apart(a.residual_out, residual_bytes, a.payload, a.capacity, "residual_out and payload");
}

Status encode(const casync_codec* codec, const EncodeArguments& a, const compll::EncodeContext& context,
              size_t* bytes) {
  CASYNC_RETURN_IF_ERROR(check_encode(codec, a));
  CASYNC_RETURN_IF_ERROR(need(bytes, "bytes"));
  const compll::Encoded encoded = codec->codec->encode(a.in, a.elements, {a.residual_in, a.residual_out, a.elements},
                                                       context, static_cast<std::byte*>(a.payload));
  // The residual of a NaN is NaN, and would stay in the residual for ever: the old residual stays instead.
  if (!encoded.finite && a.residual_out != nullptr) {
    std::copy_n(a.residual_in, kept_floats(codec, a.elements), a.residual_out);
  }
  *bytes = encoded.size;
  return Status::ok();
}

Status result(const casync_codec* codec, const float* decoded, std::size_t elements, const float* state_in,
              float* state_out, float* out) {
  CASYNC_RETURN_IF_ERROR(need_codec(codec));
  if (!codec->info().has_result) {
    return invalid_argument("codec `" + codec->info().name +
                            "` encodes no differences: the elements that it decodes are the result");
  }
  CASYNC_RETURN_IF_ERROR(compll::check_elements(codec->info(), elements));
  CASYNC_RETURN_IF_ERROR(need_array(decoded, elements, "decoded"));
  CASYNC_RETURN_IF_ERROR(need_array(state_in, elements, "state_in"));
  CASYNC_RETURN_IF_ERROR(need_array(state_out, elements, "state_out"));
  CASYNC_RETURN_IF_ERROR(need_array(out, elements, "out"));
  const std::size_t bytes = elements * sizeof(float), state_bytes = kept_floats(codec, elements) * sizeof(float);
  if (out != decoded) CASYNC_RETURN_IF_ERROR(apart(decoded, bytes, out, bytes, "decoded and out"));
  CASYNC_RETURN_IF_ERROR(apart(state_in, state_bytes, state_out, state_bytes, "state_in and state_out"));
  CASYNC_RETURN_IF_ERROR(apart(decoded, bytes, state_out, state_bytes, "decoded and state_out"));
  CASYNC_RETURN_IF_ERROR(apart(state_in, state_bytes, out, bytes, "state_in and out"));
  CASYNC_RETURN_IF_ERROR(apart(state_out, state_bytes, out, bytes, "state_out and out"));
  const bool finite = std::all_of(decoded, decoded + elements, [](float x) { return std::isfinite(x); });
  codec->codec->result(decoded, elements, {state_in, state_out, elements}, {}, out);
  if (!finite) std::copy_n(state_in, kept_floats(codec, elements), state_out);
  return Status::ok();
}

Status merge(const casync_codec* codec, std::size_t count, const void* const* payloads, const size_t* bytes,
             std::size_t elements, void* payload, std::size_t capacity, size_t* merged_bytes) {
  CASYNC_RETURN_IF_ERROR(check_capacity(codec, elements, payload, capacity));
  CASYNC_RETURN_IF_ERROR(need(merged_bytes, "merged_bytes"));
  CASYNC_RETURN_IF_ERROR(compll::check_no_patch(codec->info().name));
  if (count == 0) return invalid_argument("`count` is 0: a merge needs at least one payload");
  CASYNC_RETURN_IF_ERROR(need(payloads, "payloads"));
  CASYNC_RETURN_IF_ERROR(need(bytes, "bytes"));
  std::vector<compll::Contribution> contributions;
  for (std::size_t i = 0; i < count; ++i) {
    const std::string name = "payloads[" + std::to_string(i) + "]";
    CASYNC_RETURN_IF_ERROR(need_array(payloads[i], bytes[i], name.c_str()));
    if (Status status = check_payload(*codec->codec, payloads[i], bytes[i], elements); !status) {
      return Status(status.code(), name + ": " + status.message());
    }
    CASYNC_RETURN_IF_ERROR(apart(payloads[i], bytes[i], payload, capacity, (name + " and payload").c_str()));
    contributions.push_back({{static_cast<const std::byte*>(payloads[i]), bytes[i]}, nullptr});
  }
  *merged_bytes =
      codec->codec->merge(contributions, elements, 1.0f, *codec->codec, {}, {}, static_cast<std::byte*>(payload)).size;
  return Status::ok();
}

}  // namespace

casync_status casync_codec_open(const char* name, const casync_parameter* parameters, size_t count,
                                casync_codec** codec) {
  return guarded([&] {
    CASYNC_RETURN_IF_ERROR(need(codec, "codec"));
    *codec = nullptr;
    CASYNC_RETURN_IF_ERROR(need(name, "name"));
    const Result<CodecChoice> choice = codec_choice(name, parameters, count);
    if (!choice) return choice.status();
    auto handle = std::make_unique<casync_codec>();
    if (compll::has_rounds(choice->name)) {
      Result<std::unique_ptr<compll::RoundsCodec>> made = compll::make_rounds_codec(choice->name, choice->parameters);
      if (!made) return made.status();
      handle->rounds = std::move(*made);
    } else {
      Result<std::unique_ptr<compll::Codec>> made = compll::make_codec(choice->name, choice->parameters);
      if (!made) return made.status();
      handle->codec = std::move(*made);
    }
    *codec = handle.release();
    return Status::ok();
  });
}

casync_status casync_codec_bound(const casync_codec* codec, size_t elements, size_t* bytes) {
  return guarded([&] {
    CASYNC_RETURN_IF_ERROR(need_codec(codec));
    CASYNC_RETURN_IF_ERROR(need(bytes, "bytes"));
    CASYNC_RETURN_IF_ERROR(compll::check_elements(codec->codec->info(), elements));
    *bytes = codec->codec->encoded_bound(elements);
    return Status::ok();
  });
}

casync_status casync_codec_encode(const casync_codec* codec, const float* in, size_t elements, const float* residual_in,
                                  float* residual_out, uint64_t seed, uint32_t step, void* payload, size_t capacity,
                                  size_t* bytes) {
  return guarded([&] {
    compll::EncodeContext context;
    context.seed = seed;
    context.step = step;
    return encode(codec, {in, elements, residual_in, residual_out, payload, capacity}, context, bytes);
  });
}

casync_status casync_codec_decode(const casync_codec* codec, const void* payload, size_t bytes, float* out,
                                  size_t elements) {
  return guarded([&] {
    CASYNC_RETURN_IF_ERROR(need_codec(codec));
    CASYNC_RETURN_IF_ERROR(need_array(payload, bytes, "payload"));
    CASYNC_RETURN_IF_ERROR(compll::check_elements(codec->codec->info(), elements));
    CASYNC_RETURN_IF_ERROR(need_array(out, elements, "out"));
    CASYNC_RETURN_IF_ERROR(check_payload(*codec->codec, payload, bytes, elements));
    CASYNC_RETURN_IF_ERROR(apart(payload, bytes, out, elements * sizeof(float), "payload and out"));
    codec->codec->decode({static_cast<const std::byte*>(payload), bytes}, elements, out);
    return Status::ok();
  });
}

casync_status casync_codec_result(const casync_codec* codec, const float* decoded, size_t elements,
                                  const float* state_in, float* state_out, float* out) {
  return guarded([&] { return result(codec, decoded, elements, state_in, state_out, out); });
}

casync_status casync_codec_merge(const casync_codec* codec, size_t count, const void* const* payloads,
                                 const size_t* bytes, size_t elements, void* payload, size_t capacity,
                                 size_t* merged_bytes) {
  return guarded([&] { return merge(codec, count, payloads, bytes, elements, payload, capacity, merged_bytes); });
}

casync_status casync_codec_info(const casync_codec* codec, char* json, size_t capacity, size_t* length) {
  return guarded([&] {
    CASYNC_RETURN_IF_ERROR(need(codec, "codec"));
    return give_text(compll::json_of(codec->info()).dump(), json, capacity, length);
  });
}

void casync_codec_free(casync_codec* codec) {
  guarded_free([&] { delete codec; });
}
