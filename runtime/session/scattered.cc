// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/scattered.h"

#include <string>

#include "casync/strategies/reduce_scatter.h"
#include "compll/codec/rounds_codec.h"
#include "runtime/session/hop_codecs.h"

namespace casync::runtime {
namespace {

constexpr const char* kInstead = "; declare it without scatter, and every rank gets all of the result";

/// PlanError: a mode that lets more or other ranks have the result, or has it later.
Status check_mode(const SyncMode& mode) {
  const auto refused = [](const std::string& why) { return plan_error(why + kInstead); };
  if (mode.is_gossip()) return refused("gossip averages parameters with neighbours, and no rank owns a shard of them");
  if (mode.is_local()) return refused("local_sgd exchanges differences of whole parameters, which every rank needs");
  if (mode.is_asynchronous()) return refused("asynchronous owners answer each rank with what it has not been told");
  if (mode.staleness == 0) return Status::ok();
  return refused("staleness keeps the result of a whole gradient for a later step");
}

}  // namespace

Status check_scattered(const SyncMode& mode, const Declared& declared, const Topology& topology) {
  CASYNC_RETURN_IF_ERROR(check_shards(declared.spec.elements(), topology.ranks));
  CASYNC_RETURN_IF_ERROR(check_mode(mode));
  if (compll::has_rounds(declared.decision.codec.name)) {
    return plan_error("codec `" + declared.decision.codec.name +
                      "` has exchanges within a step, after which every rank has all of the result: give it another "
                      "codec" +
                      kInstead);
  }
  if (!declared.decision.servers.dedicated) return Status::ok();
  return plan_error(text_of(declared.decision.servers) +
                    " would own no shard, and every rank owns its own: leave `dedicated` out for this gradient");
}

Result<TaskGraph> make_scattered_graph(const Declared& declared, const Topology& topology, Rank self) {
  const auto traits = [](const CodecChoice& choice) -> Result<CodecTraits> {
    const Result<CodecTraits> known = traits_of(choice);
    if (!known) return known.status();
    return scattered_traits(*known);
  };
  return make_graph(declared.decision, declared.spec.elements(), topology, self, 0, traits, &reduce_scatter_graph);
}

}  // namespace casync::runtime
