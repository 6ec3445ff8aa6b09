// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "casync/simulator/outlines/outlines.h"

namespace casync {
namespace {

using Kind = Stage::Kind;

/// Steps one after the other, in at most four pieces each way.
class RingOutline {
 public:
  explicit RingOutline(OutlineWriter& out) : out_(out), shape_(out.shape()) {}

  /// Adds one way around the ring, of as many codes of `bytes` side by side as `together`. Calls before(steps) and
  /// after(steps) around each piece.
  template <class Before, class After>
  void add_way(Bytes bytes, double together, const Before& before, const After& after) const {
    const bool between = shape_.nodes > 1;  // the slowest link of the ring sets its pace where all its links are busy
    const Profile& profile = out_.profile();
    const int pieces = std::min(shape_.ranks - 1, 4);
    for (int i = 0; i < pieces; ++i) {
      const double steps = static_cast<double>(shape_.ranks - 1) / pieces;
      before(steps);
      // Only one rank of a node has its successor elsewhere: a port that is shared is not asked for by the others.
      Stage& sent = out_.send(between, together * steps * shape_.share, bytes, 0, 1);
      if (between && profile.node_shares_port) sent.seconds /= shape_.each, sent.receive_s /= shape_.each;
      sent.gathers = sent.joins = true;
      sent.then_s = steps * (together * shape_.rest() *
                                 mean(out_.messages().leaving(false, bytes), out_.messages().leaving(true, bytes)) +
                             mean(profile.inside.latency_s, profile.between.latency_s)) -
                    sent.latency_s;
      after(steps);
    }
  }

 private:
  double mean(double inside, double outside) const {
    return shape_.nodes > 1 ? ((shape_.each - 1) * inside + outside) / shape_.each : inside;
  }

  OutlineWriter& out_;
  const OutlineShape& shape_;
};

}  // namespace

/// Coded terms travel side by side, more of them with each step.
void ring_outline(OutlineWriter& out, bool coded_terms) {
  const OutlineShape& shape = out.shape();
  const PartitionCosts& costs = out.costs();
  const double share = shape.share, rest = shape.rest();
  const double merge = costs.merge_s(1, Hop::kFirst, true, Hop::kFirst);
  const double last =
      coded_terms ? costs.merge_of_codes_s() : costs.merge_s(shape.ranks > 1 ? 1 : 0, Hop::kFirst, true, Hop::kSecond);
  const double encode = costs.encode_s(), decode = costs.decode_s();
  if (coded_terms) {
    out.codec(Kind::kEncode, shape.of_round, encode);
  } else if (shape.ranks > 1) {
    out.codec(Kind::kEncode, share, encode, rest * encode).gathers = true;
  }
  double merges = -1;  // the first step sends what was encoded
  const auto merge_before = [&](double steps) {
    const double times = steps + std::min(merges, 0.0);
    merges = 0;
    if (times > 0 && !coded_terms) out.gathering(times * share, merge, times * rest * merge);
  };
  const auto decode_after = [&](double steps) {
    Stage& decoded = out.codec(Kind::kDecode, steps * share, decode);
    decoded.gathers = decoded.aside = true;
  };
  const auto nothing = [](double) {};
  const RingOutline ring(out);
  ring.add_way(costs.there(), coded_terms ? shape.ranks / 2.0 : 1, merge_before, nothing);
  out.gathering(share, last, rest * last);
  out.next_hop();
  ring.add_way(costs.back(), 1, nothing, decode_after);
  out.codec(Kind::kDecode, share, decode).gathers = true;
}

}  // namespace casync
