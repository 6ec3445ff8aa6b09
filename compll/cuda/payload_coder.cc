// SPDX-License-Identifier: Apache-2.0
#include "compll/cuda/payload_coder.h"

#include <algorithm>
#include <utility>

#include "base/units.h"
#include "compll/codec/coded/coded_block.h"

namespace casync::compll {
namespace {

static_assert(cuda::kCodedElements == kCodedBlock);
constexpr std::size_t kCodeAlignment = 16;

template <class T>
T* as(std::byte* memory) {
  return reinterpret_cast<T*>(memory);
}

cuda::Grid grid_of(std::uint32_t blocks) { return {blocks, cuda::kThreads, cuda::kCodingSharedBytes}; }

}  // namespace

Status PayloadCoder::find(CudaDevice& device, const CudaModules& modules, const std::string& codec) {
  for (const auto& [function, place] :
       {std::pair{"_code", &code_}, {"_join", &join_}, {"_find", &find_}, {"_read", &read_}}) {
    const auto found = modules.kernel(device, "casync_" + codec + function);
    if (!found) return found.status();
    *place = *found;
  }
  return Status::ok();
}

void PayloadCoder::begin() {
  clear(read_batch_);
  clear(made_);
}

void PayloadCoder::clear(Batch& batch) {
  batch.payloads.clear();
  batch.sections.clear();
  batch.blocks = 0;
}

unsigned char* PayloadCoder::add_read(const unsigned char* payload, Bytes bytes, Elements n,
                                      cuda::CodedOutcome* outcome, LaunchMemory& memory) {
  cuda::CodedPayload& added = add(n, memory, read_batch_);
  added.payload = const_cast<unsigned char*>(payload);  // NOLINT: kernels that read one do not write it
  added.bytes = bytes;
  added.outcome = outcome;
  return added.plain;
}

unsigned char* PayloadCoder::add_made(unsigned char* payload, Elements n, cuda::CodedOutcome* outcome,
                                      LaunchMemory& memory) {
  cuda::CodedPayload& added = add(n, memory, made_);
  std::uint64_t codes = 0;
  for (std::size_t i = made_.sections.size() - added.section_count; i < made_.sections.size(); ++i) {
    cuda::CodedSection& section = made_.sections[i];
    section.codes = codes;
    if (section.coding != 0) codes += round_up(section.bytes, kCodeAlignment);
  }
  added.payload = payload;
  added.outcome = outcome;
  added.sizes = as<cuda::uint32_t>(memory.work(added.block_count * sizeof(cuda::uint32_t), 0));
  added.codes = as<unsigned char>(memory.work(codes, 0));
  return added.plain;
}

/// Adds a payload and its sections, with room for the one without coding.
cuda::CodedPayload& PayloadCoder::add(Elements n, LaunchMemory& memory, Batch& batch) const {
  const SectionPlaces places = coding_.places(n);
  std::uint32_t blocks = 0;
  for (std::size_t i = 0; i < places.all().size(); ++i) {
    const SectionPlace& place = places[i];
    const Coding coding = coding_.codings()[i];
    const Bytes all = coding == Coding::kPlain ? ceil_div(place.bytes(), Bytes{cuda::kPlainPiece})
                                               : ceil_div(place.count, Elements{cuda::kCodedElements});
    cuda::CodedSection section;
    section.coding = static_cast<std::uint32_t>(coding);
    section.bits = place.bits;
    section.count = place.count;
    section.begin = place.begin;
    section.bytes = place.bytes();
    section.first_block = blocks;
    section.block_count = static_cast<std::uint32_t>(all);
    batch.sections.push_back(section);
    blocks += section.block_count;
  }
  cuda::CodedPayload payload;
  payload.section_count = static_cast<std::uint32_t>(places.all().size());
  payload.first_block = batch.blocks;
  payload.block_count = std::max(blocks, 1u);
  payload.plain = as<unsigned char>(memory.work(places.size(), 0));
  payload.places = as<cuda::uint64_t>(memory.work(payload.block_count * sizeof(cuda::uint64_t), 0));
  batch.blocks += payload.block_count;
  return batch.payloads.emplace_back(payload);
}

/// Gives the payloads their sections, and the launch its payloads.
cuda::CodingLaunch PayloadCoder::launch_of(Batch& batch, LaunchMemory& memory) {
  const cuda::CodedSection* sections = memory.give_all(batch.sections);
  for (cuda::CodedPayload& each : batch.payloads) {
    each.sections = sections;
    if (sections != nullptr) sections += each.section_count;
  }
  cuda::CodingLaunch launch;
  launch.payloads = memory.give_all(batch.payloads);
  launch.payload_count = static_cast<std::uint32_t>(batch.payloads.size());
  return launch;
}

void PayloadCoder::launch_reads(LaunchMemory& memory, Launches& launches) {
  if (read_batch_.payloads.empty()) return;
  const cuda::CodingLaunch launch = launch_of(read_batch_, memory);
  launches.push_back({find_, grid_of(launch.payload_count), {}, launch});
  launches.push_back({read_, grid_of(read_batch_.blocks), {}, launch});
}

void PayloadCoder::launch_makes(LaunchMemory& memory, Launches& launches) {
  if (made_.payloads.empty()) return;
  cuda::CodingLaunch launch = launch_of(made_, memory);
  const std::size_t tickets = made_.payloads.size() * sizeof(cuda::uint32_t);
  launch.tickets = as<cuda::uint32_t>(memory.work(tickets, tickets));
  launches.push_back({code_, grid_of(made_.blocks), {}, launch});
  launches.push_back({join_, grid_of(made_.blocks), {}, launch});
}

}  // namespace casync::compll
