// SPDX-License-Identifier: Apache-2.0
#include "tools/casync/profile/device_costs.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "casync/model/codec_choice.h"
#include "compll/codec/codec.h"
#include "compll/codec/coded/coded_codec.h"
#include "compll/codec/rounds_codec.h"
#include "runtime/device/device.h"
#include "tools/casync/profile/codec_points.h"
#include "tools/casync/profile/codec_vectors.h"
#include "tools/casync/profile/device_timer.h"
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

constexpr Bytes kSmallestCopy = 256;

class DeviceCosts {
 public:
  DeviceCosts(const ProfileOptions& options, DeviceTimer& timer, MeasuredProfile& made)
      : options_(options), timer_(timer), device_(timer.device()), stream_(timer.stream()), made_(made) {}

  Status run() {
    CASYNC_RETURN_IF_ERROR(memory());
    CASYNC_RETURN_IF_ERROR(copies());
    CASYNC_RETURN_IF_ERROR(launch());
    for (const std::string& codec : options_.codecs) CASYNC_RETURN_IF_ERROR(this->codec(codec));
    made_.notes.push_back(device_.name() +
                          ": a backward pass and codecs at the same time were not measured, and count "
                          "as if neither slowed the other");
    return Status::ok();
  }

 private:
  Elements largest() const { return static_cast<Elements>(options_.largest); }

  Status memory() {
    options_.progress("memory of " + options_.device);
    const Bytes bytes = options_.quick ? 64_MiB : 256_MiB;  // in no cache
    Result<std::unique_ptr<DeviceBuffer>> from = device_.allocate(bytes, Memory::kDevice),
                                          to = device_.allocate(bytes, Memory::kDevice);
    CASYNC_RETURN_IF_ERROR(from.status());
    CASYNC_RETURN_IF_ERROR(to.status());
    const Result<double> seconds = timer_.seconds_of([&] { return stream_.copy((*from)->device(), (*to)->device()); });
    if (!seconds) return seconds.status();
    made_.profile.memory_bytes_per_second = std::round(2 * static_cast<double>(bytes) / *seconds / 1e7) * 1e7;
    return Status::ok();
  }

  Status copies() {
    options_.progress("copies to " + options_.device + " and from it");
    const Bytes most = largest() * sizeof(float);
    Result<std::unique_ptr<DeviceBuffer>> there = device_.allocate(most, Memory::kDevice),
                                          here = device_.allocate(most, Memory::kPinned);
    CASYNC_RETURN_IF_ERROR(there.status());
    CASYNC_RETURN_IF_ERROR(here.status());
    std::vector<Curve::Point> up, down;
    for (Bytes bytes = kSmallestCopy; bytes <= most; bytes *= options_.quick ? 16 : 4) {
      const View host = (*here)->view().slice(0, bytes);
      const DeviceView device = (*there)->device().slice(0, bytes);
      const Result<double> to = timer_.seconds_of([&] { return stream_.upload(host, device); });
      if (!to) return to.status();
      const Result<double> from = timer_.seconds_of([&] { return stream_.download(device, host); });
      if (!from) return from.status();
      up.push_back({static_cast<double>(bytes), *to});
      down.push_back({static_cast<double>(bytes), *from});
    }
    made_.profile.upload = fitted(made_, "copies to " + device_.name(), std::move(up));
    made_.profile.download = fitted(made_, "copies from " + device_.name(), std::move(down));
    return Status::ok();
  }

  /// The time of the smallest call of a kernel.
  Status launch() {
    options_.progress("launches on " + options_.device);
    const Result<std::unique_ptr<compll::Codec>> none = compll::make_codec("none");
    if (!none) return none.status();
    Result<std::unique_ptr<runtime::CodecKernels>> kernels = device_.kernels("none", **none);
    if (!kernels) return kernels.status();
    const Result<CodecVectors> vectors = CodecVectors::make(device_, **none, 1);
    if (!vectors) return vectors.status();
    const KernelTerm own{{}, vectors->in()};
    KernelCall call = vectors->call(KernelFunction::kMerge);
    call.terms = {&own, 1};
    const Result<double> seconds = timer_.seconds_of(**kernels, call);
    if (!seconds) return seconds.status();
    made_.profile.launch_s = rounded(*seconds);
    return Status::ok();
  }

  /// A call's seconds beyond a launch.
  Status add_point(runtime::CodecKernels& kernels, const KernelCall& call, std::vector<Curve::Point>& points) {
    const Result<double> seconds = timer_.seconds_of(kernels, call);
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
    Result<std::unique_ptr<runtime::CodecKernels>> kernels = device_.kernels(choice->name, **codec);
    if (!kernels) return kernels.status();
    CodecPoints points;
    for (const Elements n : measured_sizes(512, options_.quick ? 32 : 8, largest())) {
      const Result<CodecVectors> vectors = CodecVectors::make(device_, **codec, n);
      if (!vectors) return vectors.status();
      CASYNC_RETURN_IF_ERROR(add_points(**codec, **kernels, *vectors, points));
    }
    add_codec(made_, name, std::move(points));
    return Status::ok();
  }

  /// Measures each function; the codes that are decoded and merged are made on the way.
  Status add_points(const compll::Codec& codec, runtime::CodecKernels& kernels, const CodecVectors& vectors,
                    CodecPoints& points) {
    const bool identity = codec.info().identity;
    std::vector<KernelTerm> terms = {{{}, vectors.in()}};
    for (std::size_t i = 0; i < kManyMerged; ++i) {
      DeviceView payload = vectors.payload(i);
      if (identity) {
        terms.push_back({{}, vectors.in()});
        continue;
      }
      KernelCall call = vectors.call(KernelFunction::kEncode);
      call.payload = payload;
      if (i == 0) {
        CASYNC_RETURN_IF_ERROR(add_point(kernels, call, points.encode));
      } else {
        CASYNC_RETURN_IF_ERROR(stream_.copy(vectors.payload(0), payload));
      }
      if (compll::size_varies(codec)) payload = payload.slice(0, vectors.outcome().bytes);
      terms.push_back({payload, {}});
    }
    if (!identity) {
      KernelCall call = vectors.call(KernelFunction::kDecode);
      call.terms = std::span(terms).subspan(1, 1);
      CASYNC_RETURN_IF_ERROR(add_point(kernels, call, points.decode));
    }
    for (const std::size_t codes : {kFewMerged, kManyMerged}) {
      KernelCall call = vectors.call(KernelFunction::kMerge);
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
    Result<std::unique_ptr<runtime::TurnKernels>> kernels = device_.turn_kernels(choice.name, **codec);
    if (!kernels) return kernels.status();
    std::vector<Curve::Point> turns;
    const auto longest = static_cast<Elements>(std::sqrt(static_cast<double>(largest())));
    for (const Elements side : measured_sizes(32, options_.quick ? 4 : 2, longest)) {
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
      Result<std::unique_ptr<DeviceBuffer>> taken = device_.allocate(count * sizeof(float), Memory::kDevice);
      if (!taken) return taken.status();
      CASYNC_RETURN_IF_ERROR(stream_.fill((*taken)->device(), std::byte{0}));
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
    return timer_.seconds_of(kernels, calls);
  }

  const ProfileOptions& options_;
  DeviceTimer& timer_;
  Device& device_;
  runtime::Stream& stream_;
  MeasuredProfile& made_;
};

}  // namespace

Status add_device_costs(const ProfileOptions& options, MeasuredProfile& made) {
  Result<DeviceTimer> timer = DeviceTimer::open(options.device, options.quick ? 0.02 : 0.1);
  if (!timer) return timer.status();
  return DeviceCosts(options, *timer, made).run();
}

}  // namespace casync::tools
