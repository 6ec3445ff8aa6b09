// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/hop_codecs.h"

#include "compll/codec/codec.h"
#include "compll/codec/kept.h"
#include "compll/codec/registry.h"

namespace casync::runtime {

CodecChoice for_dtype(CodecChoice choice, DType dtype) {
  if (choice.name != "none" || dtype == DType::kFloat32) return choice;
  return {dtype == DType::kFloat16 ? "fp16" : "bf16", {}};
}

Result<HopCodecs> make_codecs(const Decision& decision, DType dtype) {
  HopCodecs codecs;
  const std::pair<std::unique_ptr<compll::Codec>*, CodecChoice> all[] = {{&codecs.first, decision.codec},
                                                                         {&codecs.second, decision.second_hop},
                                                                         {&codecs.raw, for_dtype({}, dtype)},
                                                                         {&codecs.sum, {}}};
  for (const auto& [place, choice] : all) {
    CASYNC_RETURN_IF_ERROR(compll::check_no_patch(choice.name));
    Result<std::unique_ptr<compll::Codec>> codec = compll::make_codec(choice.name, choice.parameters);
    if (!codec) return codec.status();
    *place = std::move(*codec);
  }
  if (decision.residual_memory == ResidualMemory::kBFloat16) codecs.kept = compll::make_kept_bfloat16();
  return codecs;
}

Result<CodecTraits> traits_of(const CodecChoice& choice) {
  CASYNC_RETURN_IF_ERROR(compll::check_no_patch(choice.name));
  Result<std::unique_ptr<compll::Codec>> codec = compll::make_codec(choice.name, choice.parameters);
  if (!codec) return codec.status();
  const compll::CodecInfo& info = (*codec)->info();
  return CodecTraits{info.exact_merge, info.bits_per_element, info.coded_terms, info.votes, info.has_result};
}

double payload_bits_of(const CodecChoice& choice) {
  const Result<CodecTraits> traits = traits_of(choice);  // an error for codecs of rounds
  return traits ? traits->bits_per_element : CodecTraits{}.bits_per_element;
}

}  // namespace casync::runtime
