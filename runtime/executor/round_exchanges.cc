// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/round_exchanges.h"

#include <variant>

namespace casync::runtime {

void RoundExchanges::take_in(const Bucket& bucket, std::span<GradientRun* const> runs, const RoundPayloads& payloads) {
  for (const Round& round : bucket.rounds) {
    Pieces& pieces = pieces_.emplace_back();
    const auto add = [&](const RoundTask& task) {
      const std::uint32_t g = task.gradient - bucket.first_gradient;
      const Primitive& primitive = runs[g]->graph.tasks()[TaskGraph::index(task.task)];
      if (const auto* send = std::get_if<Send>(&primitive)) {
        pieces.sends.push_back({send->to, payloads.message(g, send->from)});
      } else {
        const auto& recv = std::get<Recv>(primitive);
        pieces.recvs.push_back({recv.from, payloads.message(g, recv.to)});
      }
    };
    for (const RoundTask& task : round.sends) add(task);
    for (const RoundTask& task : round.recvs) add(task);
  }
}

Status RoundExchanges::exchange(std::uint32_t round, RoundTransport& transport) {
  const Pieces& pieces = pieces_[round];
  traffic_.messages_sent += pieces.sends.size();
  traffic_.messages_received += pieces.recvs.size();
  for (const RoundPiece& piece : pieces.sends) traffic_.bytes_sent += piece.memory.size();
  for (const RoundPiece& piece : pieces.recvs) traffic_.bytes_received += piece.memory.size();
  return transport.exchange(pieces.sends, pieces.recvs);
}

}  // namespace casync::runtime
