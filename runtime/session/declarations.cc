// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/declarations.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "casync/planner/decide.h"
#include "compll/codec/codec.h"
#include "runtime/session/agreement.h"

namespace casync::runtime {
namespace {

// Offsets in messages and indices in codecs are 32 bits where 64 would cost bandwidth.
constexpr Elements kMostElements = Elements{1} << 32;

Status check_shape(const GradientSpec& gradient) {
  if (gradient.name.empty()) return invalid_argument("a gradient needs a name");
  if (gradient.name.size() > 4096) return invalid_argument("a gradient's name of over 4096 characters");
  Elements elements = 1;
  for (std::int64_t extent : gradient.shape) {
    if (extent < 0) {
      return invalid_argument("gradient " + gradient.name + ": an extent of " + std::to_string(extent));
    }
    if (extent > 0 && elements > kMostElements / static_cast<Elements>(extent)) {
      return invalid_argument("gradient " + gradient.name + ": over 2^32 elements");
    }
    elements *= static_cast<Elements>(extent);
  }
  return Status::ok();
}

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
    Result<std::unique_ptr<compll::Codec>> codec = compll::make_codec(choice.name, choice.parameters);
    if (!codec) return codec.status();
    *place = std::move(*codec);
  }
  return codecs;
}

}  // namespace

Result<CodecTraits> traits_of(const CodecChoice& choice) {
  Result<std::unique_ptr<compll::Codec>> codec = compll::make_codec(choice.name, choice.parameters);
  if (!codec) return codec.status();
  const compll::CodecInfo& info = (*codec)->info();
  return CodecTraits{info.exact_merge, info.bits_per_element, info.coded_terms};
}

Result<Declared> declare_gradient(const Plan& plan, const GradientSpec& gradient, const Topology& topology) {
  CASYNC_RETURN_IF_ERROR(check_shape(gradient));
  Declared declared{gradient, decide(plan, gradient, topology.ranks),
                    XXH3_64bits(gradient.name.data(), gradient.name.size())};
  // Whether a strategy can carry a codec is asked of the codec the plan names: `none` in half precision still
  // merges without a further error at each hop only as float32, so a ring of it is refused like any other cast.
  declared.decision.codec = for_dtype(declared.decision.codec, gradient.dtype);
  declared.decision.second_hop = for_dtype(declared.decision.second_hop, gradient.dtype);
  Result<std::unique_ptr<GradientRun>> run = make_run(declared, topology, 0, 0);
  if (!run) {
    return Status(run.status().code(), "gradient " + gradient.name + ": " + run.status().message());
  }
  return declared;
}

Result<std::unique_ptr<GradientRun>> make_run(const Declared& declared, const Topology& topology, Rank self,
                                              std::size_t position) {
  const Decision& decision = declared.decision;
  Result<HopCodecs> codecs = make_codecs(decision, declared.spec.dtype);
  if (!codecs) return codecs.status();
  Result<TaskGraph> graph = make_graph(decision, declared.spec.elements(), topology, self, position, traits_of);
  if (!graph) return graph.status();
  auto run = std::make_unique<GradientRun>(declared.spec, decision, std::move(*graph), std::move(*codecs));
  run->self = self;
  run->key = declared.key;
  return run;
}

std::string state_label(const Decision& decision, const Topology& topology) {
  std::string label = identity_of(decision.codec) + " / " + identity_of(decision.second_hop) + ", " +
                      std::string(name_of(decision.strategy)) + ", " + std::to_string(decision.partitions) +
                      " partitions";
  if (decision.strategy == StrategyKind::kHierarchical) label += ", ranks " + text_of(topology);
  return label;
}

}  // namespace casync::runtime
