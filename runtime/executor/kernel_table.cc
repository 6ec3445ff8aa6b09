// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/kernel_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "compll/codec/registry.h"
#include "runtime/executor/answering.h"

namespace casync::runtime {
namespace {

constexpr const char* kWhole = "exchange_whole";

std::string text_of(const std::string& name, const compll::CodecInfo& info) {
  std::string text = name;
  for (const double value : info.values) text += fmt::format(" {}", value);  // as many digits as tell it from others
  return text;
}

}  // namespace

Status KernelTable::take_in(GradientRun& run) {
  const HopCodecs& codecs = *run.codecs;
  CASYNC_RETURN_IF_ERROR(find(codecs.raw->info().name, *codecs.raw));  // also widens and rounds half precision
  if (run.rounds) return find_turns(run);
  if (run.kept.type() == DType::kBFloat16) CASYNC_RETURN_IF_ERROR(find(codecs.kept->info().name, *codecs.kept));
  // Gossip with codecs exchanges gradients as they are, and differences in a run of their own.
  const bool is_plain = run.kept.is_in_place();
  CASYNC_RETURN_IF_ERROR(find(is_plain ? codecs.raw->info().name : run.decision.codec.name, *codecs.first));
  CASYNC_RETURN_IF_ERROR(find(is_plain ? codecs.raw->info().name : run.decision.second_hop.name, *codecs.second));
  if (run.answering) {
    const compll::Codec& contribution = run.answering->on_device()->contribution();
    CASYNC_RETURN_IF_ERROR(find(contribution.info().name, contribution));
  }
  return find("none", *codecs.sum);
}

Status KernelTable::find(const std::string& given, const compll::Codec& codec) {
  const std::string& name = codec.info().identity ? codec.info().name : given;  // plans know one identity
  std::unique_ptr<CodecKernels>& known = kernels_[text_of(name, codec.info())];
  if (known == nullptr) {
    Result<std::unique_ptr<CodecKernels>> made = device_.kernels(name, codec);
    if (!made) return made.status();
    known = std::move(*made);
  }
  by_codec_[&codec] = known.get();
  return Status::ok();
}

Status KernelTable::find_turns(GradientRun& run) {
  RoundsRun& rounds = *run.rounds;
  const compll::RoundsCodec& codec = *rounds.codec;
  const std::vector<compll::ExchangeKind>& kinds = codec.info().exchanges;
  if (std::find(kinds.begin(), kinds.end(), compll::ExchangeKind::kElias) != kinds.end()) {
    for (const float scale : {1.0f, run.scale.scale_or(scale_)}) CASYNC_RETURN_IF_ERROR(find_whole(scale));
  }
  const std::string& name = rounds.make_kernels ? codec.info().name : run.decision.codec.name;
  std::unique_ptr<TurnKernels>& known = turns_[text_of(name, codec.info())];
  if (known == nullptr) {
    Result<std::unique_ptr<TurnKernels>> made =
        rounds.make_kernels ? rounds.make_kernels(device_) : device_.turn_kernels(name, codec);
    if (!made) return made.status();
    known = std::move(*made);
  }
  by_rounds_codec_[&codec] = known.get();
  const Result<Elements> scratch = known->scratch(rounds.rows, rounds.columns);
  if (!scratch) return scratch.status();
  if (*scratch <= rounds.shape.scratch) return Status::ok();
  auto memory = device_.allocate(*scratch * sizeof(float), Memory::kDevice);
  if (!memory) return memory.status();
  rounds.use_scratch(std::move(*memory));
  return Status::ok();
}

Status KernelTable::find_whole(float scale) {
  std::unique_ptr<compll::Codec>& known = whole_[scale];
  if (known != nullptr) return Status::ok();
  const std::pair<std::string, double> parameter("scale", scale);
  Result<std::unique_ptr<compll::Codec>> made = compll::make_built_in_codec(kWhole, {&parameter, 1});
  if (!made) return made.status();
  known = std::move(*made);
  return find(kWhole, *known);
}

}  // namespace casync::runtime
