// SPDX-License-Identifier: Apache-2.0
#include "runtime/control/wire/frame.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/control/wire/crypto.h"
#include "runtime/control/wire/wire.h"

namespace casync::runtime {
namespace {

constexpr Bytes kSignedBytes = 48;
constexpr Bytes kMacBytes = 16;

std::string mac_of(const std::string& key, std::string_view header) {
  return hmac_sha256(key, header.substr(0, kSignedBytes)).substr(0, kMacBytes);
}

}  // namespace

Bytes most_payload(FrameType type) {
  switch (type) {
    case FrameType::kBeat: return 0;
    case FrameType::kReady: return 16_MiB;
    case FrameType::kClaim:
    case FrameType::kAgreed:
    case FrameType::kTold:
    case FrameType::kNeeds:
    case FrameType::kAllGathered:
    case FrameType::kGather:  // the call's name and deadline travel in front of the blob
    case FrameType::kGathered: return kMostBlobBytes + 4_KiB;
    case FrameType::kAbort:
    case FrameType::kRefused: return 64_KiB;
    case FrameType::kAsk:
    case FrameType::kNeeded:
    case FrameType::kLacks:
    case FrameType::kWhoIsLate:
    case FrameType::kGiveUp: return kMostClaimName + 8;
    case FrameType::kLate: return 2 * kMostClaimName;
    case FrameType::kHere: return 16_KiB;
    case FrameType::kAlone: return 4_KiB;
    case FrameType::kUp:
    case FrameType::kDown: return kMostBlobBytes + 8_KiB;
    case FrameType::kGoodbye: return kMostLastWords + kMostLeavers;
    case FrameType::kHubWords: return kMostHubWords;
  }
  return 0;
}

Payload::Payload(std::string content) : bytes(std::move(content)), digest(sha256(bytes)) {}

PayloadRef make_payload(std::string content) { return std::make_shared<const Payload>(std::move(content)); }

std::string FrameSealer::header(FrameType type, const Payload& payload) {
  WireWriter writer;
  writer.u32(static_cast<std::uint32_t>(type)).u32(static_cast<std::uint32_t>(payload.bytes.size()));
  writer.u64(sequence_++).raw(payload.digest);
  std::string header = writer.take();
  return header + mac_of(key_, header);
}

Status FrameParser::push(std::string_view bytes, std::vector<Frame>* frames) {
  while (!bytes.empty()) {
    if (header_.size() < kControlHeaderBytes) {
      const Bytes take = std::min(bytes.size(), kControlHeaderBytes - header_.size());
      header_ += bytes.substr(0, take);
      bytes.remove_prefix(take);
      if (header_.size() < kControlHeaderBytes) return Status::ok();
      CASYNC_RETURN_IF_ERROR(check_header());
    }
    const Bytes take = std::min(bytes.size(), length_ - payload_.size());
    payload_ += bytes.substr(0, take);
    bytes.remove_prefix(take);
    if (payload_.size() == length_) CASYNC_RETURN_IF_ERROR(finish(frames));
  }
  return Status::ok();
}

Status FrameParser::check_header() {
  if (!same_secret(mac_of(key_, header_), std::string_view(header_).substr(kSignedBytes))) {
    return data_loss(fmt::format("control frame {}: its header is damaged or forged", sequence_));
  }
  WireReader reader(header_);
  const std::uint32_t type = reader.u32();
  length_ = reader.u32();
  const std::uint64_t sequence = reader.u64();
  if (sequence != sequence_) {
    return data_loss(fmt::format("control frame {} came where {} was due", sequence, sequence_));
  }
  if (type < 1 || type > static_cast<std::uint32_t>(kLastFrameType)) {
    return data_loss(fmt::format("control frame {}: type {} is unknown", sequence_, type));
  }
  type_ = static_cast<FrameType>(type);
  if (length_ > most_payload(type_)) {
    return data_loss(fmt::format("control frame {}: {} bytes, type {} has at most {}", sequence_, length_, type,
                                 most_payload(type_)));
  }
  return Status::ok();
}

Status FrameParser::finish(std::vector<Frame>* frames) {
  auto payload = make_payload(std::move(payload_));
  if (!same_secret(payload->digest, std::string_view(header_).substr(16, kDigestBytes))) {
    return data_loss(fmt::format("control frame {}: its {} bytes are damaged", sequence_, length_));
  }
  frames->push_back({type_, std::move(payload)});
  ++sequence_;
  header_.clear();
  payload_.clear();
  return Status::ok();
}

}  // namespace casync::runtime
