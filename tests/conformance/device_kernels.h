// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "compll/codec/coded/coded_codec.h"
#include "compll/codec/none.h"
#include "compll/codec/payload.h"
#include "compll/ops/cpu/convert.h"
#include "tests/conformance/device_under_test.h"

/// Checks of the kernels that every device has.
namespace casync::test {

/// The functions of a codec on the device: its bytes are the codec's, also when it is called again in the same room.
inline void check_kernels(DeviceUnderTest& on, const std::string& name) {
  INFO(name);
  constexpr Elements kN = 1000;
  const std::unique_ptr<compll::Codec> codec = std::move(compll::make_codec(name)).value();
  Result<std::unique_ptr<runtime::CodecKernels>> kernels = on.device.kernels(name, *codec);
  REQUIRE(kernels.status().text() == "OK");
  std::vector<float> values(kN);
  for (Elements i = 0; i < kN; ++i) values[i] = static_cast<float>(i % 17) - 8.5f;
  const Bytes bytes = kN * sizeof(float), bound = codec->encoded_bound(kN);
  const Bytes head = codec->info().identity ? runtime::kDevicePayloadHead : 0;
  const auto in = on.take(bytes, Memory::kDevice), payload = on.take(head + bound, Memory::kDevice);
  const auto kept = on.take(bytes, Memory::kDevice), out = on.take(bytes, Memory::kDevice);
  const bool keeps = codec->info().states == 1;
  REQUIRE(on.device.write({reinterpret_cast<const std::byte*>(values.data()), bytes}, in->device()).is_ok());
  REQUIRE(on.device.write({std::vector<std::byte>(bytes).data(), bytes}, kept->device()).is_ok());
  const auto kept_out = on.take(bytes, Memory::kDevice);
  const auto outcome = on.take(sizeof(runtime::KernelOutcome), Memory::kPinned);
  const runtime::KernelTerm raw{{}, in->device()};
  runtime::KernelCall call;
  call.function = runtime::KernelFunction::kMerge;
  call.n = kN;
  call.terms = {&raw, 1};
  call.scale = 0.5f;
  call.payload = payload->device();
  call.out = out->device();
  call.outcome = outcome->device();
  if (keeps) {
    call.kept_in = kept->device();
    call.kept_out = kept_out->device();
    call.kept_stride = kN;
  }
  const Result<runtime::KernelRoom> room = (*kernels)->room({&call, 1});
  REQUIRE(room.is_ok());
  const auto memory = on.take(room->device, Memory::kDevice), pinned = on.take(room->pinned, Memory::kPinned);
  std::vector<float> zeros(kN), residual(kN);
  std::vector<std::byte> wanted(bound), made(bound);
  const compll::Contribution term{{}, values.data()};
  const compll::Encoded merged =
      codec->merge({&term, 1}, kN, 0.5f, *codec,
                   keeps ? compll::Residual{zeros.data(), residual.data(), kN} : compll::Residual{}, {}, wanted.data());
  wanted.resize(merged.size);
  for (int again = 0; again < 2; ++again) {
    fill_with(outcome->view(), 0);
    REQUIRE((*kernels)->issue({&call, 1}, memory->device(), pinned->view(), *on.stream).is_ok());
    REQUIRE(on.over().is_ok());
    runtime::KernelOutcome told;
    std::memcpy(&told, outcome->view().data, sizeof told);
    made.resize(compll::size_varies(*codec) ? told.bytes : bound);
    REQUIRE(on.device.read(payload->device().slice(head, made.size()), {made.data(), made.size()}).is_ok());
    CHECK(made == wanted);
    CHECK(told.fault == 0);
  }
}

/// A merge that takes the greatest of each element: the elements are the codec's, and its head says if they are finite.
inline void check_greatest(DeviceUnderTest& on) {
  constexpr Elements kN = 5000;
  const std::unique_ptr<compll::Codec> codec = compll::make_greatest();
  Result<std::unique_ptr<runtime::CodecKernels>> kernels = on.device.kernels(codec->info().name, *codec);
  REQUIRE(kernels.status().text() == "OK");
  std::vector<float> values[3];
  std::unique_ptr<runtime::DeviceBuffer> memories[3];
  std::vector<runtime::KernelTerm> terms;
  std::vector<compll::Contribution> contributions;
  const Bytes bytes = kN * sizeof(float), head = runtime::kDevicePayloadHead;
  for (const bool spoiled : {false, true}) {
    terms.clear();
    contributions.clear();
    for (std::size_t t = 0; t < 3; ++t) {
      values[t].resize(kN);
      for (Elements i = 0; i < kN; ++i) values[t][i] = static_cast<float>((i * 31 + t * 7) % 17) - 8.5f;
      values[t][4] = t == 1 ? -2.0f : -std::numeric_limits<float>::infinity();
      if (spoiled && t == 1) values[t][4321] = std::numeric_limits<float>::quiet_NaN();
      memories[t] = on.take(bytes, Memory::kDevice);
      REQUIRE(on.device.write({reinterpret_cast<const std::byte*>(values[t].data()), bytes}, memories[t]->device())
                  .is_ok());
      terms.push_back({{}, memories[t]->device()});
      contributions.push_back({{}, values[t].data()});
    }
    const auto payload = on.take(head + bytes, Memory::kDevice), out = on.take(bytes, Memory::kDevice);
    runtime::KernelCall call;
    call.function = runtime::KernelFunction::kMerge;
    call.n = kN;
    call.terms = terms;
    call.payload = payload->device();
    call.out = out->device();
    const Result<runtime::KernelRoom> room = (*kernels)->room({&call, 1});
    REQUIRE(room.is_ok());
    const auto memory = on.take(room->device, Memory::kDevice), pinned = on.take(room->pinned, Memory::kPinned);
    REQUIRE((*kernels)->issue({&call, 1}, memory->device(), pinned->view(), *on.stream).is_ok());
    REQUIRE(on.over().is_ok());
    std::vector<std::byte> wanted(bytes), made(head + bytes);
    CHECK(codec->merge(contributions, kN, 1, *codec, {}, {}, wanted.data()).finite != spoiled);
    REQUIRE(on.device.read(payload->device(), {made.data(), made.size()}).is_ok());
    CHECK(compll::says_finite(made.data()) != spoiled);
    CHECK(std::memcmp(made.data() + head, wanted.data(), bytes) == 0);
  }
}

/// A payload that is none of its codec, which the kernels of a codec with coded sections find out.
inline void check_fault(DeviceUnderTest& on) {
  constexpr Elements kN = 5000;
  const std::unique_ptr<compll::Codec> codec = std::move(compll::make_codec("lossless")).value();
  const auto kernels = std::move(on.device.kernels("lossless", *codec)).value();
  std::vector<float> values(kN, 0.25f);
  std::vector<std::byte> payload(codec->encoded_bound(kN));
  payload.resize(codec->encode(values.data(), kN, {}, {}, payload.data()).size);
  const auto code = on.take(payload.size(), Memory::kDevice), out = on.take(kN * sizeof(float), Memory::kDevice);
  const auto outcome = on.take(sizeof(runtime::KernelOutcome), Memory::kPinned);
  const runtime::KernelTerm term{code->device(), {}};
  runtime::KernelCall call;
  call.function = runtime::KernelFunction::kDecode;
  call.n = kN;
  call.terms = {&term, 1};
  call.out = out->device();
  call.outcome = outcome->device();
  const runtime::KernelRoom room = std::move(kernels->room({&call, 1})).value();
  const auto memory = on.take(room.device, Memory::kDevice), pinned = on.take(room.pinned, Memory::kPinned);
  for (const bool damaged : {false, true, false}) {
    INFO("damaged: " << damaged);
    std::vector<std::byte> sent = payload;
    if (damaged) sent[sent.size() - 2] = std::byte{9};  // no width of the codes of the last plane
    CHECK(codec->check({sent.data(), sent.size()}, kN).is_ok() == !damaged);
    fill_with(outcome->view(), 0);
    REQUIRE(on.device.write({sent.data(), sent.size()}, code->device()).is_ok());
    REQUIRE(kernels->issue({&call, 1}, memory->device(), pinned->view(), *on.stream).is_ok());
    REQUIRE(on.over().is_ok());
    runtime::KernelOutcome told;
    std::memcpy(&told, outcome->view().data, sizeof told);
    CHECK((told.fault != 0) == damaged);
  }
}

/// A word says of results in half precision if one is not finite. A call whose results are finite leaves it as it is.
inline void check_not_finite(DeviceUnderTest& on, const std::string& name) {
  INFO(name);
  constexpr Elements kN = 9000;
  const std::unique_ptr<compll::Codec> codec = std::move(compll::make_codec(name)).value();
  const auto kernels = std::move(on.device.kernels(name, *codec)).value();
  const auto in = on.take(kN * sizeof(float), Memory::kDevice), out = on.take(2 * kN, Memory::kDevice);
  const auto word = on.take(sizeof(runtime::KernelWord), Memory::kPinned);
  const runtime::KernelTerm raw{{}, in->device()};
  runtime::KernelCall call;
  call.function = runtime::KernelFunction::kDecode;
  call.n = kN;
  call.terms = {&raw, 1};
  call.out = out->device();
  call.not_finite = word->device();
  for (const DType dtype : {DType::kFloat16, DType::kBFloat16}) {
    call.out_type = dtype;
    const runtime::KernelRoom room = std::move(kernels->room({&call, 1})).value();
    const auto memory = on.take(room.device, Memory::kDevice), pinned = on.take(room.pinned, Memory::kPinned);
    const float largest = dtype == DType::kFloat16 ? 65519.0f : 3.389e38f;
    const float infinity = std::numeric_limits<float>::infinity();
    for (const float value : {largest, -1.01f * largest, infinity, std::numeric_limits<float>::quiet_NaN()}) {
      for (const Elements at : {Elements{0}, Elements{4095}, kN - 1}) {
        INFO(name_of(dtype) << ", " << value << " at " << at);
        std::vector<float> values(kN, 1.5f);
        values[at] = value;
        std::vector<std::byte> wanted(2 * kN), made(2 * kN);
        const bool finite = compll::from_float32(values.data(), kN, dtype, wanted.data());
        CHECK(finite == (value == largest));
        REQUIRE(on.device.write({reinterpret_cast<const std::byte*>(values.data()), kN * sizeof(float)}, in->device())
                    .is_ok());
        fill_with(word->view(), 0);
        REQUIRE(kernels->issue({&call, 1}, memory->device(), pinned->view(), *on.stream).is_ok());
        REQUIRE(on.over().is_ok());
        runtime::KernelWord told = 0;
        std::memcpy(&told, word->view().data, sizeof told);
        CHECK(told == (finite ? 0u : 1u));
        REQUIRE(on.device.read(out->device(), {made.data(), made.size()}).is_ok());
        CHECK(made == wanted);
      }
    }
  }
}

/// The turns of a codec that exchanges within a step, of one rank: their floats are the codec's.
inline void check_turns(DeviceUnderTest& on, const std::string& name) {
  INFO(name);
  constexpr Elements kRows = 40, kColumns = 33, kN = kRows * kColumns;
  const std::unique_ptr<compll::RoundsCodec> codec = std::move(compll::make_rounds_codec(name, {})).value();
  Result<std::unique_ptr<runtime::TurnKernels>> kernels = on.device.turn_kernels(name, *codec);
  REQUIRE(kernels.status().text() == "OK");
  const compll::RoundsShape shape = codec->shape(kRows, kColumns);
  const Result<Elements> scratch = (*kernels)->scratch(kRows, kColumns);
  REQUIRE(scratch.is_ok());

  // The codec on the host, and the same memories on the device.
  std::vector<float> gradient(kN), states(shape.states), states_out(shape.states), kept(shape.scratch);
  for (Elements i = 0; i < kN; ++i) gradient[i] = static_cast<float>(i % 17) - 8.5f;
  const auto filled = [&](const std::vector<float>& values) {
    const Bytes bytes = values.size() * sizeof(float);
    auto memory = on.take(bytes, Memory::kDevice);
    if (bytes == 0) return memory;
    REQUIRE(on.device.write({reinterpret_cast<const std::byte*>(values.data()), bytes}, memory->device()).is_ok());
    return memory;
  };
  std::vector<std::vector<float>> exchanged;
  std::vector<float*> places;
  std::vector<std::unique_ptr<runtime::DeviceBuffer>> memories;
  std::vector<runtime::DeviceView> views;
  for (const Elements size : shape.exchanged) exchanged.emplace_back(size);
  for (std::vector<float>& each : exchanged) {
    places.push_back(each.data());
    memories.push_back(filled(each));
    views.push_back(memories.back()->device());
  }
  const auto in = filled(gradient), kept_in = filled(states), kept_out = filled(states);
  const auto between = on.take(*scratch * sizeof(float), Memory::kDevice);
  const auto same = [&](const std::vector<float>& wanted, const runtime::DeviceBuffer& memory) {
    if (wanted.empty()) return true;
    std::vector<float> made(wanted.size());
    const Bytes bytes = made.size() * sizeof(float);
    REQUIRE(on.device.read(memory.device(), {reinterpret_cast<std::byte*>(made.data()), bytes}).is_ok());
    return std::memcmp(made.data(), wanted.data(), bytes) == 0;
  };
  for (std::uint32_t number = 0; number <= shape.exchanged.size(); ++number) {
    INFO("turn " << number);
    const bool last = number == shape.exchanged.size();
    const compll::EncodeContext context{5, 6, 7, 0};
    codec->turn({number, kRows, kColumns, gradient.data(), places, states.data(), states_out.data(), kept.data(),
                 last ? gradient.data() : nullptr},
                context);
    const runtime::TurnCall call{number,
                                 kRows,
                                 kColumns,
                                 in->device(),
                                 views,
                                 kept_in->device(),
                                 kept_out->device(),
                                 between->device(),
                                 last ? in->device() : runtime::DeviceView(),
                                 context};
    const Result<runtime::KernelRoom> room = (*kernels)->room(call);
    REQUIRE(room.is_ok());
    const auto memory = on.take(room->device, Memory::kDevice), pinned = on.take(room->pinned, Memory::kPinned);
    REQUIRE((*kernels)->issue(call, memory->device(), pinned->view(), *on.stream).is_ok());
    REQUIRE(on.over().is_ok());
    if (!last) CHECK(same(exchanged[number], *memories[number]));
  }
  CHECK(same(gradient, *in));
  CHECK(same(states_out, *kept_out));
}

}  // namespace casync::test
