// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/gradient_run.h"

#include <algorithm>
#include <tuple>

#include "base/check.h"
#include "casync/graph/access.h"
#include "compll/codec/kept.h"
#include "compll/ops/cpu/convert.h"
#include "runtime/executor/answering.h"

namespace casync::runtime {

GradientRun::GradientRun(GradientSpec specification, Decision made, TaskGraph plan_graph, HopCodecs hop_codecs)
    : spec(std::move(specification)),
      decision(std::move(made)),
      graph(std::move(plan_graph)),
      codecs(std::move(hop_codecs)),
      width(static_cast<std::uint8_t>(bytes_of(spec.dtype))),
      elements(spec.elements()),
      waits_for(graph.tasks().size()),
      since(graph.tasks().size()),
      buffers(graph.buffers().size()) {
  // A result is made in the gradient's memory, while the code of it may still be on its way to others.
  const bool has_result = codec(Hop::kFirst).info().has_result;
  for (const Buffer& buffer : graph.buffers()) {
    const bool in_place = is_float32() && codec(buffer.hop).info().identity;
    lies_in_gradient.push_back(in_place && !(has_result && buffer.hop == Hop::kSecond));
  }
  for (std::size_t i = 0; i < graph.tasks().size(); ++i) {
    if (const Recv* recv = std::get_if<Recv>(&graph.tasks()[i])) {
      const std::size_t to = TaskGraph::index(recv->to);
      if (graph.buffers()[to].hop != Hop::kSecond) lies_in_gradient[to] = false;
    }
  }
  lay_out_kept();
  find_traits();
  find_arrivals();
}

GradientRun::~GradientRun() = default;

namespace {

GradientSpec spec_of(std::span<GradientRun* const> members) {
  GradientSpec spec = members[0]->spec;
  spec.name += " and " + std::to_string(members.size() - 1) + " more";
  std::int64_t elements = 0;
  for (const GradientRun* member : members) elements += static_cast<std::int64_t>(member->elements);
  spec.shape = {elements};
  return spec;
}

std::uint64_t key_of(std::span<GradientRun* const> members) {
  std::uint64_t key = 0x9e3779b97f4a7c15ull * members.size();
  for (const GradientRun* member : members) {
    key = (key ^ member->key) * 0x9e3779b97f4a7c15ull;
    key ^= key >> 29;
  }
  return key;
}

}  // namespace

GradientRun::GradientRun(std::span<GradientRun* const> members)
    : spec(spec_of(members)),
      decision(members[0]->decision),
      graph(members[0]->graph),
      used_codecs(members[0]->used_codecs),
      lies_in_gradient(graph.buffers().size(), false),
      parts(std::make_unique<Bundle>()),
      width(members[0]->width),
      self(members[0]->self),
      key(key_of(members)),
      elements(spec.elements()),
      waits_for(graph.tasks().size()),
      since(graph.tasks().size()),
      buffers(graph.buffers().size()) {
  contributors = members[0]->contributors;
  parts->bytes.fill(bundle_head_bytes(members.size()));
  for (GradientRun* member : members) {
    member->bundle = this;
    member->bundle_place = static_cast<std::uint32_t>(parts->members.size());
    parts->members.push_back({member, {}, member->elements});
    for (const Hop hop : {Hop::kFirst, Hop::kSecond}) {
      Bytes& end = parts->bytes[static_cast<std::size_t>(hop)];
      const Bytes bytes = codec(hop).encoded_bound(member->elements);
      parts->entries[static_cast<std::size_t>(hop)].push_back(
          {member->key, static_cast<std::uint32_t>(end), static_cast<std::uint32_t>(bytes)});
      end = round_up(end + bytes, Bytes{16});
    }
  }
  find_traits();
  find_arrivals();
}

void GradientRun::find_arrivals() {
  for (std::size_t i = 0; i < graph.tasks().size(); ++i) {
    if (const Recv* recv = std::get_if<Recv>(&graph.tasks()[i])) {
      arrivals.push_back({recv->id, recv->from, TaskId(i), false});
    }
  }
  std::sort(arrivals.begin(), arrivals.end(),
            [](const Arrival& a, const Arrival& b) { return std::tie(a.id, a.from) < std::tie(b.id, b.from); });
}

/// The hop of what a task makes: an encode's is the first, a merge's one further than what it merged.
void GradientRun::find_traits() {
  traits.resize(graph.tasks().size());
  std::vector<std::uint32_t> hop_of(graph.buffers().size());  // of the payload in each buffer
  for (const Primitive& task : graph.tasks()) {
    if (const Recv* recv = std::get_if<Recv>(&task)) hop_of[TaskGraph::index(recv->to)] = recv->id.hop + 1;
  }
  for (const Primitive& task : graph.tasks()) {
    const Merge* merge = std::get_if<Merge>(&task);
    if (merge == nullptr) continue;
    std::uint32_t& to = hop_of[TaskGraph::index(merge->to)];
    for_each_read(task, [&](BufferId part) { to = std::max(to, hop_of[TaskGraph::index(part)]); });
  }
  for (std::size_t i = 0; i < traits.size(); ++i) {
    const Primitive& task = graph.tasks()[i];
    if (const std::optional<BufferId> to = written_buffer(task)) traits[i].hop = hop_of[TaskGraph::index(*to)];
    for_each_read(task,
                  [&](BufferId from) { traits[i].hop = std::max(traits[i].hop, hop_of[TaskGraph::index(from)]); });
    if (const Encode* encode = std::get_if<Encode>(&task)) traits[i].instant = in_place(encode->to);
    const Decode* decode = std::get_if<Decode>(&task);
    if (decode != nullptr) traits[i].instant = in_place(decode->from) && !codec(Hop::kFirst).info().has_result;
  }
}

Rank GradientRun::sender_of(BufferId buffer) const {
  for (const Primitive& task : graph.tasks()) {
    const Recv* recv = std::get_if<Recv>(&task);
    if (recv != nullptr && recv->to == buffer) return recv->from;
  }
  return -1;
}

/// As many arrays as kept_per_element() says.
void GradientRun::lay_out_kept() {
  const compll::CodecInfo& first = codec(Hop::kFirst).info();
  const compll::CodecInfo& second = codec(Hop::kSecond).info();
  const auto add = [&](KeptBy use, const compll::CodecInfo& info) {
    kept_at[static_cast<std::size_t>(use)] = static_cast<std::uint32_t>(kept_initial.size());
    kept_initial.insert(kept_initial.end(), info.state_initial.begin(), info.state_initial.end());
  };
  if (!first.coded_terms && !second.coded_terms) {
    add(KeptBy::kEncode, first.states != 0 ? first : second);
  } else {
    add(KeptBy::kEncode, first);
    add(KeptBy::kMerge, second);
    if (first.has_result) add(KeptBy::kResult, first);
  }
  CASYNC_CHECK(kept_initial.size() == compll::kept_per_element(first, second));
}

namespace {

/// Writes floats as elements of another type, rounded to the nearest.
Status write_floats(Device& device, std::span<const float> values, DType type, DeviceView to) {
  if (type == DType::kFloat32) {
    return device.write({reinterpret_cast<const std::byte*>(values.data()), values.size() * sizeof(float)}, to);
  }
  std::vector<std::byte> elements(values.size() * bytes_of(type));
  compll::from_float32(values.data(), values.size(), type, elements.data());
  return device.write({elements.data(), elements.size()}, to);
}

}  // namespace

Status GradientRun::allocate_kept(Device& device) {
  if (rounds) CASYNC_RETURN_IF_ERROR(rounds->allocate(device));
  for (const std::unique_ptr<GradientRun>& one : gossip) {
    if (one->rounds) CASYNC_RETURN_IF_ERROR(one->rounds->allocate(device));
  }
  if (owner_side) CASYNC_RETURN_IF_ERROR(owner_side->answering->allocate(*owner_side, device));
  if (kept_floats() == 0) return Status::ok();
  for (std::size_t i = 0; i < kept_data.size(); ++i) {
    if (i > 0 && (keeps_in_place || has_one_buffer())) {
      kept_data[i] = kept_data[0];
      break;
    }
    Result<std::unique_ptr<DeviceBuffer>> memory = device.allocate(kept_bytes(), Memory::kDevice);
    if (!memory) return memory.status();
    kept_memory[i] = std::move(*memory);
    kept_data[i] = kept_memory[i]->device();
  }
  return reset_kept(device);
}

namespace {

// A bundle's kernels take what all members keep from two buffers of floats.
static_assert(kBundledGradientBytes <= kAlwaysTwoBuffers);

constexpr Bytes kSharedBlock = 64_KiB;
constexpr Bytes kKeptAlignment = 256;  // that of memory which a run has for itself

bool may_share_block(const GradientRun& run) {
  return !run.rounds && run.gossip.empty() && !run.owner_side && !run.has_one_buffer() && run.kept_bytes() > 0 &&
         run.kept_bytes() <= kSharedBlock;
}

Bytes bytes_in_block(const GradientRun& run) { return round_up(run.kept_bytes(), kKeptAlignment); }

}  // namespace

Status allocate_kept(std::span<const std::unique_ptr<GradientRun>> runs, Device& device) {
  Bytes bytes = 0;
  for (const std::unique_ptr<GradientRun>& run : runs) {
    if (may_share_block(*run)) {
      bytes += bytes_in_block(*run);
    } else {
      CASYNC_RETURN_IF_ERROR(run->allocate_kept(device));
    }
  }
  if (bytes == 0) return Status::ok();
  Result<std::unique_ptr<DeviceBuffer>> memory = device.allocate(2 * bytes, Memory::kDevice);
  if (!memory) return memory.status();
  const std::shared_ptr<DeviceBuffer> block = std::move(*memory);
  Bytes at = 0;
  for (const std::unique_ptr<GradientRun>& run : runs) {
    if (!may_share_block(*run)) continue;
    run->kept_block = block;
    for (std::size_t i = 0; i < run->kept_data.size(); ++i) {
      run->kept_data[i] = block->device().slice(i * bytes + at, run->kept_bytes());
    }
    at += bytes_in_block(*run);
    CASYNC_RETURN_IF_ERROR(run->reset_kept(device));
  }
  return Status::ok();
}

Status GradientRun::reset_kept(Device& device) {
  if (owner_side) CASYNC_RETURN_IF_ERROR(owner_side->answering->write({}, completed.load()));
  std::vector<float> initial(kept_floats());
  for (std::size_t array = 0; array < kept_initial.size(); ++array) {
    std::fill_n(initial.begin() + static_cast<std::ptrdiff_t>(array * elements), elements, kept_initial[array]);
  }
  for (const DeviceView floats : kept_data) {
    if (!floats.is_null()) CASYNC_RETURN_IF_ERROR(write_floats(device, initial, kept_type(), floats));
  }
  return Status::ok();
}

View GradientRun::memory(Slice slice) const { return data.slice(slice.first * width, slice.count * width); }

DeviceView GradientRun::device_memory(Slice slice) const {
  return device_data.slice(slice.first * width, slice.count * width);
}

void GradientRun::move_to_device() {
  std::fill(lies_in_gradient.begin(), lies_in_gradient.end(), false);
  find_traits();
}

GradientRun::DeviceKept GradientRun::device_kept(const compll::Codec& codec, KeptBy use, Slice slice) const {
  if (codec.info().states == 0) return {};
  const GradientRun& keeper = shares_kept ? *outer : *this;
  const Bytes first = (kept_at[static_cast<std::size_t>(use)] * elements + slice.first) * bytes_of(keeper.kept_type());
  const auto at = [&](int which) {
    const DeviceView all = keeper.kept_data[static_cast<std::size_t>(which)];
    return all.slice(first, all.size() - first);
  };
  return {at(keeper.committed), at(1 - keeper.committed), elements};
}

bool GradientRun::keeps_like(const GradientRun& other) const {
  return kept_initial == other.kept_initial && kept_at == other.kept_at && elements == other.elements;
}

GradientRun* GradientRun::warm_up_in(std::uint32_t asked) const {
  for (const WarmUp& stage : warm_up) {
    if (asked < stage.until) return stage.run.get();
  }
  return nullptr;
}

Elements GradientRun::state_floats() const {
  return kept_floats() + (owner_side ? owner_side->answering->state_floats() : 0);
}

Status GradientRun::read_kept(Device& device, std::vector<float>* kept) const {
  kept->assign(state_floats(), 0);
  const Elements own = kept_floats();
  if (owner_side) CASYNC_RETURN_IF_ERROR(owner_side->answering->read(std::span(*kept).subspan(own)));
  if (own == 0) return Status::ok();
  const DType type = kept_type();
  if (type == DType::kFloat32) {
    return device.read(kept_data[committed], {reinterpret_cast<std::byte*>(kept->data()), own * sizeof(float)});
  }
  std::vector<std::byte> values(kept_bytes());
  CASYNC_RETURN_IF_ERROR(device.read(kept_data[committed], {values.data(), values.size()}));
  compll::to_float32(type, values.data(), own, kept->data());
  return Status::ok();
}

Status GradientRun::write_kept(Device& device, const std::vector<float>& kept) {
  const Elements own = kept_floats();
  if (owner_side) {
    CASYNC_RETURN_IF_ERROR(owner_side->answering->write(std::span(kept).subspan(own), completed.load()));
  }
  if (own == 0) return Status::ok();
  return write_floats(device, std::span(kept).first(own), kept_type(), kept_data[committed]);
}

void GradientRun::set_step(std::uint32_t next) {
  for_each([&](GradientRun& run) { run.completed.store(next); });
}

const GradientRun& GradientRun::under_way() const {
  if (bundle != nullptr && bundle->active && bundle->step == step) return *bundle;
  if (instead != nullptr) return *instead;
  return rounds && rounds->under_way() != nullptr ? *rounds->under_way() : *this;
}

GradientRun::Arrival* GradientRun::arrival(MessageId id, Rank from) {
  const auto found =
      std::lower_bound(arrivals.begin(), arrivals.end(), std::tie(id, from),
                       [](const Arrival& one, const auto& wanted) { return std::tie(one.id, one.from) < wanted; });
  if (found == arrivals.end() || found->id != id || found->from != from) return nullptr;
  return &*found;
}

void GradientRun::begin(std::uint32_t new_step, View new_data) {
  data = new_data;
  step = new_step;
  instead = nullptr;
  active = true;
  finite = true;
  keeps = true;
  tasks_left = static_cast<int>(graph.tasks().size());
  for (std::size_t i = 0; i < waits_for.size(); ++i) waits_for[i] = graph.predecessors(TaskId(i));
  for (std::size_t i = 0; i < buffers.size(); ++i) buffers[i] = {{}, 0, graph.uses(BufferId(i)), false, false, true};
  for (Arrival& one : arrivals) one.begun = false;
  if (parts) parts->sends_begun = parts->sends_out = 0;
  if (rounds) rounds->turn = 0;
  waits_behind.reset();
  begun = Clock::now();
}

}  // namespace casync::runtime
