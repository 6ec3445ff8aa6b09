// SPDX-License-Identifier: Apache-2.0
#include "tools/casync/profile/device_costs.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "casync/model/codec_choice.h"
#include "compll/codec/codec.h"
#include "compll/codec/coded/coded_codec.h"
#include "compll/codec/rounds_codec.h"
#include "runtime/device/device.h"
#include "runtime/session/session_device.h"
#include "tools/casync/profile/codec_points.h"
#include "tools/casync/profile/fit.h"

namespace casync::tools {
namespace {

using runtime::Device;
using runtime::DeviceBuffer;
using runtime::DeviceView;
using runtime::KernelCall;
using runtime::KernelFunction;
using runtime::KernelTerm;
using runtime::Memory;

constexpr int kRounds = 3;
constexpr Bytes kSmallestCopy = 256;

/// The operands of a codec's functions: vectors of n elements on the device.
struct Vectors {
  std::unique_ptr<DeviceBuffer> in, out, kept_in, kept_out;
  std::vector<std::unique_ptr<DeviceBuffer>> payloads;  ///< codes to merge, and room for one more
  std::unique_ptr<DeviceBuffer> outcome;                ///< a KernelOutcome
};

class DeviceCosts {
 public:
  DeviceCosts(const ProfileOptions& options, MeasuredProfile& made) : options_(options), made_(made) {}

  Status run() {
    Result<std::unique_ptr<Device>> device = runtime::open_device(options_.device, 0);
    if (!device) return device.status();
    device_ = std::move(*device);
    Result<std::unique_ptr<runtime::Stream>> stream = device_->make_stream(false);
    if (!stream) return stream.status();
    stream_ = std::move(*stream);
    Result<std::unique_ptr<runtime::Event>> event = device_->make_event();
    if (!event) return event.status();
    event_ = std::move(*event);
    CASYNC_RETURN_IF_ERROR(memory());
    CASYNC_RETURN_IF_ERROR(copies());
    CASYNC_RETURN_IF_ERROR(launch());
    for (const std::string& codec : options_.codecs) CASYNC_RETURN_IF_ERROR(this->codec(codec));
    made_.notes.push_back(device_->name() +
                          ": a backward pass and codecs at the same time were not measured, and count "
                          "as if neither slowed the other");
    return Status::ok();
  }

 private:
  double budget() const { return options_.quick ? 0.02 : 0.1; }
  Elements largest() const { return static_cast<Elements>(options_.largest); }

  Result<std::unique_ptr<DeviceBuffer>> take(Bytes bytes, Memory kind) { return device_->allocate(bytes, kind); }

  Status wait() {
    CASYNC_RETURN_IF_ERROR(stream_->record(*event_));
    while (true) {
      const Result<bool> done = event_->done();
      if (!done) return done.status();
      if (*done) return Status::ok();
      std::this_thread::yield();
    }
  }

  /// The least seconds of several rounds that each thing takes when many follow each other in the stream.
  Result<double> seconds_of(const std::function<Status()>& queue) {
    CASYNC_RETURN_IF_ERROR(queue());
    CASYNC_RETURN_IF_ERROR(wait());
    double least = 0;
    for (int round = 0, times = 1; round < kRounds;) {
      const Clock::time_point begin = Clock::now();
      for (int i = 0; i < times; ++i) CASYNC_RETURN_IF_ERROR(queue());
      CASYNC_RETURN_IF_ERROR(wait());
      const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
      if (seconds < budget() / kRounds && times < 1 << 20) {
        times *= 2;
        continue;
      }
      least = round == 0 ? seconds / times : std::min(least, seconds / times);
      ++round;
    }
    return least;
  }

  Status memory() {
    options_.progress("memory of " + options_.device);
    const Bytes bytes = options_.quick ? 64_MiB : 256_MiB;  // in no cache
    Result<std::unique_ptr<DeviceBuffer>> from = take(bytes, Memory::kDevice), to = take(bytes, Memory::kDevice);
    CASYNC_RETURN_IF_ERROR(from.status());
    CASYNC_RETURN_IF_ERROR(to.status());
    const Result<double> seconds = seconds_of([&] { return stream_->copy((*from)->device(), (*to)->device()); });
    if (!seconds) return seconds.status();
    made_.profile.memory_bytes_per_second = std::round(2 * static_cast<double>(bytes) / *seconds / 1e7) * 1e7;
    return Status::ok();
  }

  Status copies() {
    options_.progress("copies to " + options_.device + " and from it");
    const Bytes most = largest() * sizeof(float);
    Result<std::unique_ptr<DeviceBuffer>> there = take(most, Memory::kDevice), here = take(most, Memory::kPinned);
    CASYNC_RETURN_IF_ERROR(there.status());
    CASYNC_RETURN_IF_ERROR(here.status());
    std::vector<Curve::Point> up, down;
    for (Bytes bytes = kSmallestCopy; bytes <= most; bytes *= options_.quick ? 16 : 4) {
      const View host = (*here)->view().slice(0, bytes);
      const DeviceView device = (*there)->device().slice(0, bytes);
      const Result<double> to = seconds_of([&] { return stream_->upload(host, device); });
      if (!to) return to.status();
      const Result<double> from = seconds_of([&] { return stream_->download(device, host); });
      if (!from) return from.status();
      up.push_back({static_cast<double>(bytes), *to});
      down.push_back({static_cast<double>(bytes), *from});
    }
    made_.profile.upload = fitted(made_, "copies to " + device_->name(), std::move(up));
    made_.profile.download = fitted(made_, "copies from " + device_->name(), std::move(down));
    return Status::ok();
  }

  /// The time of the smallest call of a kernel.
  Status launch() {
    options_.progress("launches on " + options_.device);
    const Result<std::unique_ptr<compll::Codec>> none = compll::make_codec("none");
    if (!none) return none.status();
    Result<std::unique_ptr<runtime::CodecKernels>> kernels = device_->kernels("none", **none);
    if (!kernels) return kernels.status();
    Result<Vectors> vectors = vectors_of(**none, 1);
    if (!vectors) return vectors.status();
    const KernelTerm own{{}, vectors->in->device()};
    KernelCall call = call_of(**none, KernelFunction::kMerge, 1, *vectors);
    call.terms = {&own, 1};
    const Result<double> seconds = seconds_of_call(**kernels, call);
    if (!seconds) return seconds.status();
    made_.profile.launch_s = rounded(*seconds);
    return Status::ok();
  }

  Result<Vectors> vectors_of(const compll::Codec& codec, Elements n) {
    Vectors made;
    const auto add = [&](std::unique_ptr<DeviceBuffer>& to, Bytes bytes) -> Status {
      Result<std::unique_ptr<DeviceBuffer>> memory = take(bytes, Memory::kDevice);
      if (!memory) return memory.status();
      to = std::move(*memory);
      // Elements of many sizes, zeros where nothing has been kept yet.
      std::vector<float> values(bytes / sizeof(float));
      if (&to == &made.in) {
        for (std::size_t i = 0; i < values.size(); ++i) values[i] = std::sin(static_cast<float>(i)) * 1e-2f;
      }
      return device_->write({reinterpret_cast<const std::byte*>(values.data()), values.size() * sizeof(float)},
                            to->device().slice(0, values.size() * sizeof(float)));
    };
    const Bytes bytes = n * sizeof(float), kept = codec.info().states * bytes;
    const Bytes head = codec.info().identity ? runtime::kDevicePayloadHead : 0;
    CASYNC_RETURN_IF_ERROR(add(made.in, bytes));
    CASYNC_RETURN_IF_ERROR(add(made.out, bytes));
    CASYNC_RETURN_IF_ERROR(add(made.kept_in, kept));
    CASYNC_RETURN_IF_ERROR(add(made.kept_out, kept));
    for (std::size_t i = 0; i <= kManyMerged; ++i) {
      CASYNC_RETURN_IF_ERROR(add(made.payloads.emplace_back(), head + codec.encoded_bound(n)));
    }
    Result<std::unique_ptr<DeviceBuffer>> outcome = take(sizeof(runtime::KernelOutcome), Memory::kPinned);
    if (!outcome) return outcome.status();
    made.outcome = std::move(*outcome);
    outcome_of(made) = {};
    return made;
  }

  static runtime::KernelOutcome& outcome_of(const Vectors& vectors) {
    return *reinterpret_cast<runtime::KernelOutcome*>(vectors.outcome->view().data);
  }

  static KernelCall call_of(const compll::Codec& codec, KernelFunction function, Elements n, const Vectors& vectors) {
    KernelCall call;
    call.function = function;
    call.n = n;
    call.in = vectors.in->device();
    call.out = vectors.out->device();
    call.payload = vectors.payloads.back()->device();
    call.outcome = vectors.outcome->device();
    if (codec.info().states != 0) {
      call.kept_in = vectors.kept_in->device();
      call.kept_out = vectors.kept_out->device();
      call.kept_stride = n;
    }
    return call;
  }

  template <class Kernels, class Call>
  Result<double> seconds_of_calls(Kernels& kernels, std::span<const Call> calls) {
    std::vector<std::unique_ptr<DeviceBuffer>> rooms, pinned;
    for (const Call& call : calls) {
      const Result<runtime::KernelRoom> room = room_of(kernels, call);
      if (!room) return room.status();
      for (const Memory kind : {Memory::kDevice, Memory::kPinned}) {
        Result<std::unique_ptr<DeviceBuffer>> memory =
            take(kind == Memory::kDevice ? room->device : room->pinned, kind);
        if (!memory) return memory.status();
        (kind == Memory::kDevice ? rooms : pinned).push_back(std::move(*memory));
      }
    }
    return seconds_of([&]() -> Status {
      for (std::size_t i = 0; i < calls.size(); ++i) {
        CASYNC_RETURN_IF_ERROR(issue(kernels, calls[i], *rooms[i], *pinned[i]));
      }
      return Status::ok();
    });
  }
  static Result<runtime::KernelRoom> room_of(runtime::CodecKernels& kernels, const KernelCall& call) {
    return kernels.room({&call, 1});
  }
  static Result<runtime::KernelRoom> room_of(runtime::TurnKernels& kernels, const runtime::TurnCall& call) {
    return kernels.room(call);
  }
  Status issue(runtime::CodecKernels& kernels, const KernelCall& call, DeviceBuffer& room, DeviceBuffer& pinned) {
    return kernels.issue({&call, 1}, room.device(), pinned.view(), *stream_);
  }
  Status issue(runtime::TurnKernels& kernels, const runtime::TurnCall& call, DeviceBuffer& room, DeviceBuffer& pinned) {
    return kernels.issue(call, room.device(), pinned.view(), *stream_);
  }
  Result<double> seconds_of_call(runtime::CodecKernels& kernels, const KernelCall& call) {
    return seconds_of_calls(kernels, std::span(&call, 1));
  }

  /// A call's seconds beyond a launch.
  Status add_point(runtime::CodecKernels& kernels, const KernelCall& call, std::vector<Curve::Point>& points) {
    const Result<double> seconds = seconds_of_call(kernels, call);
    if (!seconds) return seconds.status();
    points.push_back({static_cast<double>(call.n), std::max(0.0, *seconds - made_.profile.launch_s)});
    return Status::ok();
  }

  Status codec(const std::string& name) {
    options_.progress("codec " + name + " on " + options_.device);
    const Result<CodecChoice> choice = parse_codec_choice(name);
    if (!choice) return choice.status();
    if (compll::has_rounds(choice->name)) return rounds(name, *choice);
    const Result<std::unique_ptr<compll::Codec>> codec = compll::make_codec(choice->name, choice->parameters);
    if (!codec) return codec.status();
    Result<std::unique_ptr<runtime::CodecKernels>> kernels = device_->kernels(choice->name, **codec);
    if (!kernels) return kernels.status();
    CodecPoints points;
    const Elements step = options_.quick ? 32 : 8;
    for (Elements n = 512; n <= largest(); n *= step) {
      Result<Vectors> vectors = vectors_of(**codec, n);
      if (!vectors) return vectors.status();
      CASYNC_RETURN_IF_ERROR(add_points(**codec, **kernels, n, *vectors, points));
    }
    add_codec(made_, name, std::move(points));
    return Status::ok();
  }

  /// Measures each function; the codes that are decoded and merged are made on the way.
  Status add_points(const compll::Codec& codec, runtime::CodecKernels& kernels, Elements n, const Vectors& vectors,
                    CodecPoints& points) {
    const bool identity = codec.info().identity;
    std::vector<KernelTerm> terms = {{{}, vectors.in->device()}};
    for (std::size_t i = 0; i < kManyMerged; ++i) {
      DeviceView payload = vectors.payloads[i]->device();
      if (identity) {
        terms.push_back({{}, vectors.in->device()});
        continue;
      }
      KernelCall call = call_of(codec, KernelFunction::kEncode, n, vectors);
      call.payload = payload;
      if (i == 0) {
        CASYNC_RETURN_IF_ERROR(add_point(kernels, call, points.encode));
      } else {
        CASYNC_RETURN_IF_ERROR(stream_->copy(vectors.payloads[0]->device(), payload));
      }
      if (compll::size_varies(codec)) payload = payload.slice(0, outcome_of(vectors).bytes);
      terms.push_back({payload, {}});
    }
    if (!identity) {
      KernelCall call = call_of(codec, KernelFunction::kDecode, n, vectors);
      call.terms = std::span(terms).subspan(1, 1);
      CASYNC_RETURN_IF_ERROR(add_point(kernels, call, points.decode));
    }
    for (const std::size_t codes : {kFewMerged, kManyMerged}) {
      KernelCall call = call_of(codec, KernelFunction::kMerge, n, vectors);
      call.terms = std::span(terms).first(1 + codes);
      CASYNC_RETURN_IF_ERROR(add_point(kernels, call, codes == kFewMerged ? points.few : points.many));
    }
    return Status::ok();
  }

  /// A codec that exchanges within a step: `encode` is all of a step's turns, by the elements of a square matrix.
  Status rounds(const std::string& name, const CodecChoice& choice) {
    const Result<std::unique_ptr<compll::RoundsCodec>> codec =
        compll::make_rounds_codec(choice.name, choice.parameters);
    if (!codec) return codec.status();
    Result<std::unique_ptr<runtime::TurnKernels>> kernels = device_->turn_kernels(choice.name, **codec);
    if (!kernels) return kernels.status();
    std::vector<Curve::Point> turns;
    for (Elements side = 32; side * side <= largest(); side *= options_.quick ? 4 : 2) {
      const Result<double> seconds = turns_seconds(**codec, **kernels, side);
      if (!seconds) return seconds.status();
      turns.push_back({static_cast<double>(side * side), *seconds});
    }
    made_.profile.codecs[name].encode = fitted(made_, name + " turns of a step", std::move(turns));
    return Status::ok();
  }

  Result<double> turns_seconds(const compll::RoundsCodec& codec, runtime::TurnKernels& kernels, Elements side) {
    const compll::RoundsShape shape = codec.shape(side, side);
    const Result<Elements> scratch = kernels.scratch(side, side);
    if (!scratch) return scratch.status();
    std::vector<std::unique_ptr<DeviceBuffer>> memory;
    const auto floats = [&](Elements count) -> Result<DeviceView> {
      Result<std::unique_ptr<DeviceBuffer>> taken = take(count * sizeof(float), Memory::kDevice);
      if (!taken) return taken.status();
      CASYNC_RETURN_IF_ERROR(stream_->fill((*taken)->device(), std::byte{0}));
      return memory.emplace_back(std::move(*taken))->device();
    };
    runtime::TurnCall call;
    call.rows = call.columns = side;
    std::vector<DeviceView> exchanged(shape.exchanged.size());
    std::vector<std::pair<DeviceView*, Elements>> wanted = {{&call.gradient, side * side},
                                                            {&call.kept_in, shape.states},
                                                            {&call.kept_out, shape.states},
                                                            {&call.scratch, *scratch}};
    for (std::size_t i = 0; i < exchanged.size(); ++i) wanted.push_back({&exchanged[i], shape.exchanged[i]});
    for (const auto& [to, count] : wanted) {
      const Result<DeviceView> view = floats(count);
      if (!view) return view.status();
      *to = *view;
    }
    call.exchanged = exchanged;
    std::vector<runtime::TurnCall> calls;
    for (call.number = 0; call.number <= exchanged.size(); ++call.number) calls.push_back(call);
    calls.back().out = call.gradient;
    return seconds_of_calls(kernels, std::span<const runtime::TurnCall>(calls));
  }

  const ProfileOptions& options_;
  MeasuredProfile& made_;
  std::unique_ptr<Device> device_;  // outlives what it made
  std::unique_ptr<runtime::Stream> stream_;
  std::unique_ptr<runtime::Event> event_;
};

}  // namespace

Status add_device_costs(const ProfileOptions& options, MeasuredProfile& made) {
  return DeviceCosts(options, made).run();
}

}  // namespace casync::tools
