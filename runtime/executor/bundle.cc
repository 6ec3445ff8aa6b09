// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/bundle.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "compll/codec/coded/coded_codec.h"
#include "runtime/executor/gradient_run.h"
#include "runtime/executor/ready_queue.h"

namespace casync::runtime {
namespace {

constexpr Bytes kPartAlignment = 16;

Bytes bits_at(std::size_t count) { return 8 + count * sizeof(BundleEntry); }

// A gradient in one partition that its owner merges: where all of its messages go follows from the owner. Where its
// part lies in a bundle is laid out in advance, so its payloads have one size.
bool may_be_bundled(const GradientRun& run) {
  if (run.rounds || run.related.outer() != nullptr || run.parts || run.spec.scattered) return false;
  if (run.related.has_warm_up() || run.related.neighbourhoods() > 0 || run.asynchronous) return false;
  if (compll::size_varies(run.codec(Hop::kFirst)) || compll::size_varies(run.codec(Hop::kSecond))) return false;
  return travels_in_bundle(run.decision, run.spec.dtype, run.elements) && !run.graph.tasks().empty();
}

/// The owner, as this rank's graph shows it: the rank that merges. To all others it sends the result, also to a
/// dedicated server, which sends nothing to it.
Rank owner_of(const GradientRun& run) {
  Rank sender = run.self;
  for (const Primitive& task : run.graph.tasks()) {
    if (std::holds_alternative<Merge>(task)) return run.self;
    if (const Recv* recv = std::get_if<Recv>(&task)) sender = recv->from;
  }
  return sender;
}

}  // namespace

Bundle::Bundle(std::span<GradientRun* const> runs) {
  bytes_.fill(bundle_head_bytes(runs.size()));
  for (GradientRun* const run : runs) {
    members_.push_back({{{}, run->elements, run->key, run->spec.dtype, {}}, run});
    for (const Hop hop : {Hop::kFirst, Hop::kSecond}) {
      Bytes& end = bytes_[static_cast<std::size_t>(hop)];
      const Bytes bytes = runs[0]->codec(hop).encoded_bound(run->elements);
      entries_[static_cast<std::size_t>(hop)].push_back(
          {run->key, static_cast<std::uint32_t>(end), static_cast<std::uint32_t>(bytes)});
      end = round_up(end + bytes, kPartAlignment);
    }
  }
}

View Bundle::part(View buffer, Hop hop, std::size_t member) const {
  const BundleEntry& entry = entries(hop)[member];
  return buffer.slice(entry.offset, entry.bytes);
}

bool Bundle::offer(std::uint32_t member, View data, std::uint32_t step) {
  members_[member].data = data;
  step_ = step;
  return offered_++ == 0;
}

void Bundle::begin_members(Clock::time_point now) {
  constexpr std::size_t kAhead = 8;
  for (std::size_t i = 0; i < members_.size(); ++i) {
    if (i + kAhead < members_.size()) fetch_step_of(members_[i + kAhead].run);
    Member& member = members_[i];
    member.run->step.begin(step_, member.data, now);
    member.kept = member.run->kept.arrays();
  }
}

bool Bundle::take_offer() { return std::exchange(offered_, 0) == members_.size(); }

Bytes bundle_head_bytes(std::size_t count) {
  return round_up(bits_at(count) + 8 * ceil_div(count, std::size_t{64}), kPartAlignment);
}

void write_bundle_head(std::span<const BundleEntry> entries, View buffer) {
  const std::uint64_t count = entries.size();
  std::memcpy(buffer.data, &count, sizeof count);
  std::memcpy(buffer.data + 8, entries.data(), entries.size_bytes());
  const Bytes at = bits_at(entries.size());
  std::memset(buffer.data + at, 0, bundle_head_bytes(entries.size()) - at);
}

void clear_bundle_gaps(std::span<const BundleEntry> entries, View buffer) {
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const Bytes end = entries[i].offset + entries[i].bytes;
    const Bytes next = i + 1 < entries.size() ? entries[i + 1].offset : buffer.size;
    if (next > end) std::memset(buffer.data + end, 0, next - end);
  }
}

bool bundle_part_is_finite(ConstView buffer, std::size_t count, std::size_t at) {
  return (std::to_integer<unsigned>(buffer.data[bits_at(count) + at / 8]) >> (at % 8) & 1) != 0;
}

void set_bundle_part_finite(View buffer, std::size_t count, std::size_t at, bool finite) {
  std::byte& byte = buffer.data[bits_at(count) + at / 8];
  const auto bit = std::byte{1} << static_cast<int>(at % 8);
  byte = finite ? byte | bit : byte & ~bit;
}

std::vector<BundleEntry> read_bundle(ConstView buffer) {
  std::uint64_t count = 0;
  if (buffer.size < sizeof count) return {};
  std::memcpy(&count, buffer.data, sizeof count);
  if (count == 0 || count > kMostBundled || bundle_head_bytes(count) > buffer.size) return {};
  std::vector<BundleEntry> entries(count);
  std::memcpy(entries.data(), buffer.data + 8, count * sizeof(BundleEntry));
  for (const BundleEntry& entry : entries) {
    if (entry.offset < bundle_head_bytes(count) || entry.offset > buffer.size) return {};
    if (entry.bytes > buffer.size - entry.offset) return {};
  }
  return entries;
}

std::vector<std::vector<GradientRun*>> group_small(std::span<GradientRun* const> runs) {
  std::map<std::tuple<Rank, int, std::string, std::string>, std::vector<GradientRun*>> alike;
  for (GradientRun* run : runs) {
    if (!may_be_bundled(*run)) continue;
    alike[{owner_of(*run), run->scale.contributors(), text_of(run->decision.codec), text_of(run->decision.second_hop)}]
        .push_back(run);
  }
  std::vector<std::vector<GradientRun*>> groups;
  for (auto& [key, members] : alike) {
    std::sort(members.begin(), members.end(), [](const GradientRun* a, const GradientRun* b) {
      return std::tie(a->decision.priority, a->key) < std::tie(b->decision.priority, b->key);
    });
    std::vector<GradientRun*> group;
    Bytes memory = 0;
    const auto close = [&] {
      if (group.size() > 1) groups.push_back(group);
      group.clear();
      memory = 0;
    };
    for (GradientRun* run : members) {
      const Bytes bytes = run->elements * sizeof(float);
      if (memory + bytes > kBundleMemory || group.size() == kMostBundled) close();
      group.push_back(run);
      memory += bytes;
    }
    close();
  }
  return groups;
}

bool take_stale(ReadyQueue& queue) {
  while (!queue.empty() && queue.top().run->parts && !queue.top().run->step.is_under_way()) queue.pop();
  return queue.empty();
}

}  // namespace casync::runtime
