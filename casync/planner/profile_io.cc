// SPDX-License-Identifier: Apache-2.0
#include "casync/planner/profile_io.h"

#include <limits>

#include "proto/checked_numbers.h"
#include "proto/profile.pb.h"
#include "proto/text_reader.h"
#include "proto/text_writer.h"

namespace casync {
namespace {

namespace wire = profile::v1;
using proto::checked;
using proto::Placed;
using proto::quoted;
using proto::required;
using proto::version_is;

constexpr int kVersion = 1;

/// The points of a Link or a Curve.
template <class Message>
Curve read_points(const Placed<Message>& from) {
  Curve curve;
  for (int i = 0; i < from->point_size() && !from.hopeless(); ++i) {
    const auto point = from.inner(from->point(i), Message::kPointFieldNumber, i);
    if (!point->has_size() || !point->has_seconds()) {
      point.refuse("a point without a size or without seconds, expected point { size: NUMBER seconds: NUMBER }");
      continue;
    }
    curve.points.push_back({point->size(), point->seconds()});
    const std::string fault = fault_of_point(curve.points, curve.points.size() - 1);
    if (!fault.empty()) point.refuse("a point with " + fault + ", expected rising sizes and no falling seconds");
  }
  return curve;
}

Link read_link(const Placed<wire::Link>& from) {
  Link link;
  link.latency_s = checked(from, wire::Link::kLatencySecondsFieldNumber, from->latency_seconds(), 0);
  link.message_s = checked(from, wire::Link::kMessageSecondsFieldNumber, from->message_seconds(), 0);
  if (from->has_bytes_per_second() == (from->point_size() > 0)) {
    from.refuse("a link with both or neither of bytes_per_second and points, expected one of them");
  } else if (from->has_bytes_per_second()) {
    // Not below a byte a second: the time of any message is finite then.
    link.wire =
        Curve::affine(0, 1 / checked(from, wire::Link::kBytesPerSecondFieldNumber, from->bytes_per_second(), 1));
  } else {
    link.wire = read_points(from);
  }
  return link;
}

void read_codecs(const Placed<wire::Profile>& from, Profile& profile) {
  for (int i = 0; i < from->codec_size() && !from.hopeless(); ++i) {
    const auto codec = from.inner(from->codec(i), wire::Profile::kCodecFieldNumber, i);
    if (codec->name().empty()) codec.refuse("a codec without a name, expected name: \"NAME\"");
    CodecCurves curves;
    if (codec->has_encode()) curves.encode = read_points(codec.inner(codec->encode(), wire::Codec::kEncodeFieldNumber));
    if (codec->has_decode()) curves.decode = read_points(codec.inner(codec->decode(), wire::Codec::kDecodeFieldNumber));
    if (codec->has_merge()) curves.merge = read_points(codec.inner(codec->merge(), wire::Codec::kMergeFieldNumber));
    if (!profile.codecs.emplace(codec->name(), std::move(curves)).second) {
      codec.refuse("codec " + quoted(codec->name()) + " a second time, expected once");
    }
  }
}

Profile read_profile(const Placed<wire::Profile>& from) {
  Profile profile;
  profile.name = from->name();
  profile.source = from->source();
  profile.memory_bytes_per_second = required(from, wire::Profile::kMemoryBytesPerSecondFieldNumber,
                                             from->has_memory_bytes_per_second(), from->memory_bytes_per_second(), 1);
  profile.launch_s = checked(from, wire::Profile::kLaunchSecondsFieldNumber, from->launch_seconds(), 0);
  if (from->has_contention()) {
    profile.contention = checked(from, wire::Profile::kContentionFieldNumber, from->contention(), 1);
  }
  if (from->has_between()) {
    profile.between = read_link(from.inner(from->between(), wire::Profile::kBetweenFieldNumber));
  } else {
    from.refuse("no link between nodes, expected between { latency_seconds: NUMBER bytes_per_second: NUMBER }");
  }
  profile.inside =
      from->has_inside() ? read_link(from.inner(from->inside(), wire::Profile::kInsideFieldNumber)) : profile.between;
  profile.node_shares_port = from->node_shares_port();
  read_codecs(from, profile);
  return profile;
}

template <class Message>
void write_points(const Curve& curve, Message* to) {
  for (const Curve::Point& point : curve.points) {
    wire::Point* added = to->add_point();
    added->set_size(point.size);
    added->set_seconds(point.seconds);
  }
}

void write_link(const Link& link, wire::Link* to) {
  to->set_latency_seconds(link.latency_s);
  to->set_message_seconds(link.message_s);
  write_points(link.wire, to);
}

}  // namespace

Result<Profile> parse_profile(std::string_view text, std::string_view source) {
  wire::Profile message;
  proto::Places places;
  proto::TextDiagnostics diagnostics(text, source);
  const bool read = proto::read_text(&message, &places, &diagnostics);
  const Placed<wire::Profile> root(message, &places, {}, diagnostics);
  const bool other_version = message.has_version() && message.version() != kVersion;
  // In a file of another version all other mistakes are only consequences.
  if (other_version) diagnostics.clear();
  Profile profile;
  if ((read || other_version) && version_is(root, kVersion)) profile = read_profile(root);
  if (!diagnostics.empty()) return diagnostics.status();
  return profile;
}

std::string profile_text(const Profile& profile) {
  wire::Profile message;
  message.set_version(kVersion);
  if (!profile.name.empty()) message.set_name(profile.name);
  if (!profile.source.empty()) message.set_source(profile.source);
  message.set_memory_bytes_per_second(profile.memory_bytes_per_second);
  message.set_launch_seconds(profile.launch_s);
  message.set_contention(profile.contention);
  write_link(profile.between, message.mutable_between());
  write_link(profile.inside, message.mutable_inside());
  if (profile.node_shares_port) message.set_node_shares_port(true);
  for (const auto& [name, curves] : profile.codecs) {
    wire::Codec* codec = message.add_codec();
    codec->set_name(name);
    if (!curves.encode.empty()) write_points(curves.encode, codec->mutable_encode());
    if (!curves.decode.empty()) write_points(curves.decode, codec->mutable_decode());
    if (!curves.merge.empty()) write_points(curves.merge, codec->mutable_merge());
  }
  return proto::text_of(message);
}

}  // namespace casync
