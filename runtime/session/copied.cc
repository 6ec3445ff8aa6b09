// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/copied.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <string>
#include <utility>

#include "casync/strategies/copies.h"
#include "casync/strategies/reduce_scatter.h"
#include "runtime/session/hop_codecs.h"

namespace casync::runtime {

Status check_copies(const SessionOptions& options, const Plan& plan, const Device& device) {
  if (options.op != ReduceOp::kCopy) return Status::ok();
  if (!options.plan_file.empty() || (plan.defaults.codec && plan.defaults.codec->name != "none")) {
    return invalid_argument("op copy beside a plan or a codec: values are copied as they are, so leave it out");
  }
  if (device.is_host()) return Status::ok();
  return unimplemented("op copy on " + std::string(device.name()) + ": values are copied in the CPU's memory alone");
}

Status copies_nothing(const GradientSpec& gradient) {
  return invalid_argument(gradient.name + " is to be copied, and this session reduces: open one with op copy");
}

Result<Declared> declare_copied(const GradientSpec& gradient, std::optional<Rank> root, const Topology& topology) {
  CASYNC_RETURN_IF_ERROR(check_shape(gradient));
  const auto named = [&](const Status& status) {
    return Status(status.code(), gradient.name + ": " + status.message());
  };
  const int ranks = topology.ranks;
  if (gradient.dtype != DType::kFloat32) {
    return named(invalid_argument("its type is " + std::string(name_of(gradient.dtype)) +
                                  ", expected float32: op copy copies words of 4 bytes"));
  }
  if (root && (*root < 0 || *root >= ranks)) {
    return named(
        invalid_argument("root is " + std::to_string(*root) + ": the ranks are 0 to " + std::to_string(ranks - 1)));
  }
  if (!root) {
    if (const Status equal = check_shards(gradient.elements(), ranks); !equal) return named(equal);
  }
  Declared declared{gradient, {}, XXH3_64bits(gradient.name.data(), gradient.name.size())};
  declared.copied = Copied{root};
  // No bundle takes it: it has no owner that merges.
  declared.decision.strategy = StrategyKind::kAllGather;
  declared.decision.priority = gradient.priority;
  declared.decision.partitions =
      root ? broadcast_partitions(gradient.bytes(), ranks) : gather_partitions(gradient.bytes(), ranks);
  declared.text = std::to_string(gradient.bytes()) + " bytes, " +
                  (root ? "from rank " + std::to_string(*root) : "of each rank a shard") + ", " +
                  std::to_string(declared.decision.partitions) + " partitions";
  return declared;
}

Result<std::unique_ptr<GradientRun>> make_copied_run(const Declared& declared, const Topology& topology, Rank self) {
  const Decision& decision = declared.decision;
  Result<HopCodecs> codecs = make_codecs(decision, declared.spec.dtype);
  if (!codecs) return codecs.status();
  const std::optional<Rank> root = declared.copied->root;
  Result<TaskGraph> graph =
      make_graph(decision, declared.spec.elements(), topology, self, static_cast<std::size_t>(root.value_or(0)),
                 traits_of, root ? &broadcast_graph : &gather_graph);
  if (!graph) return graph.status();
  return std::make_unique<GradientRun>(declared.spec, decision, std::move(*graph), std::move(*codecs),
                                       RunName{declared.key, self});
}

}  // namespace casync::runtime
