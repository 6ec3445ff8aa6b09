// SPDX-License-Identifier: Apache-2.0
#include "casync/planner/plan_module/profile_io.h"

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

template <class Message>
Fan read_fan(const Placed<Message>& from, int number, const google::protobuf::RepeatedPtrField<wire::Fan>& points) {
  Fan fan;
  for (int i = 0; i < points.size() && !from.hopeless(); ++i) {
    const auto point = from.inner(points[i], number, i);
    if (!point->has_peers() || !point->has_slowdown()) {
      point.refuse("no peers or no slowdown, expected { peers: NUMBER slowdown: NUMBER }");
      continue;
    }
    fan.points.push_back({point->peers(), point->slowdown()});
    const std::string fault = fault_of_point(fan.points, fan.points.size() - 1);
    if (!fault.empty()) point.refuse(fault + ", expected rising peers from 2 and slowdowns of at least 1");
  }
  return fan;
}

Link read_link(const Placed<wire::Link>& from) {
  Link link;
  link.latency_s = checked(from, wire::Link::kLatencySecondsFieldNumber, from->latency_seconds(), 0);
  link.message_s = checked(from, wire::Link::kMessageSecondsFieldNumber, from->message_seconds(), 0);
  if (from->has_bytes_per_second() == (from->point_size() > 0)) {
    from.refuse("a link with both or neither of bytes_per_second and points, expected one of them");
  } else if (from->has_bytes_per_second()) {
    // At least a byte a second, so that the time of any message is finite.
    link.wire =
        Curve::affine(0, 1 / checked(from, wire::Link::kBytesPerSecondFieldNumber, from->bytes_per_second(), 1));
  } else {
    link.wire = read_points(from);
  }
  link.incast = read_fan(from, wire::Link::kIncastFieldNumber, from->incast());
  link.outcast = read_fan(from, wire::Link::kOutcastFieldNumber, from->outcast());
  if (from->has_send_work()) {
    link.send_work = read_points(from.inner(from->send_work(), wire::Link::kSendWorkFieldNumber));
  }
  if (from->has_receive_work()) {
    link.receive_work = read_points(from.inner(from->receive_work(), wire::Link::kReceiveWorkFieldNumber));
  }
  link.announced_bytes = checked(from, wire::Link::kAnnouncedBytesFieldNumber, from->announced_bytes(), 0);
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
    if (codec->has_merge_base()) {
      curves.merge_base = read_points(codec.inner(codec->merge_base(), wire::Codec::kMergeBaseFieldNumber));
      if (!codec->has_merge()) codec.refuse("merge_base without merge, expected both");
    }
    if (!profile.codecs.emplace(codec->name(), std::move(curves)).second) {
      codec.refuse("codec " + quoted(codec->name()) + " a second time, expected once");
    }
  }
}

/// Fields that the file leaves out are `otherwise`.
Contention read_contention(const Placed<wire::Contention>& from, double otherwise) {
  Contention read = Contention::of_all(otherwise);
  const auto field = [&](int number, bool set, double value, double& to) {
    if (set) to = checked(from, number, value, 1);
  };
  field(wire::Contention::kTrainingFieldNumber, from->has_training(), from->training(), read.training);
  field(wire::Contention::kEncodeFieldNumber, from->has_encode(), from->encode(), read.encode);
  field(wire::Contention::kMergeFieldNumber, from->has_merge(), from->merge(), read.merge);
  field(wire::Contention::kDecodeFieldNumber, from->has_decode(), from->decode(), read.decode);
  return read;
}

Profile read_profile(const Placed<wire::Profile>& from) {
  Profile profile;
  profile.name = from->name();
  profile.source = from->source();
  profile.memory_bytes_per_second = required(from, wire::Profile::kMemoryBytesPerSecondFieldNumber,
                                             from->has_memory_bytes_per_second(), from->memory_bytes_per_second(), 1);
  profile.launch_s = checked(from, wire::Profile::kLaunchSecondsFieldNumber, from->launch_seconds(), 0);
  profile.task_s = checked(from, wire::Profile::kTaskSecondsFieldNumber, from->task_seconds(), 0);
  if (from->has_bundled_task_seconds()) {
    profile.bundled_task_s =
        checked(from, wire::Profile::kBundledTaskSecondsFieldNumber, from->bundled_task_seconds(), 0);
  }
  double contention = 1;
  if (from->has_contention()) {
    contention = checked(from, wire::Profile::kContentionFieldNumber, from->contention(), 1);
  }
  profile.contention =
      from->has_contended()
          ? read_contention(from.inner(from->contended(), wire::Profile::kContendedFieldNumber), contention)
          : Contention::of_all(contention);
  if (from->has_between()) {
    profile.between = read_link(from.inner(from->between(), wire::Profile::kBetweenFieldNumber));
  } else {
    from.refuse("no link between nodes, expected between { latency_seconds: NUMBER bytes_per_second: NUMBER }");
  }
  profile.inside =
      from->has_inside() ? read_link(from.inner(from->inside(), wire::Profile::kInsideFieldNumber)) : profile.between;
  profile.node_shares_port = from->node_shares_port();
  const auto processors =
      from.within(wire::Profile::kProcessorsFieldNumber, from->has_processors(), from->processors(), 1);
  profile.processors = static_cast<int>(processors.value_or(0));
  if (from->has_upload() != from->has_download()) {
    from.refuse("only one of upload and download, expected both, or neither for codecs that run on a processor");
  }
  if (from->has_upload()) {
    profile.upload = read_points(from.inner(from->upload(), wire::Profile::kUploadFieldNumber));
  }
  if (from->has_download()) {
    profile.download = read_points(from.inner(from->download(), wire::Profile::kDownloadFieldNumber));
  }
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

void write_fan(const Fan& fan, google::protobuf::RepeatedPtrField<wire::Fan>* to) {
  for (const Fan::Point& point : fan.points) {
    wire::Fan* added = to->Add();
    added->set_peers(point.peers);
    added->set_slowdown(point.slowdown);
  }
}

/// Writes a single number if it holds for all fields.
void write_contention(const Contention& contention, wire::Profile* to) {
  if (contention == Contention::of_all(contention.training)) return to->set_contention(contention.training);
  wire::Contention* each = to->mutable_contended();
  each->set_training(contention.training);
  each->set_encode(contention.encode);
  each->set_merge(contention.merge);
  each->set_decode(contention.decode);
}

void write_link(const Link& link, wire::Link* to) {
  to->set_latency_seconds(link.latency_s);
  to->set_message_seconds(link.message_s);
  write_points(link.wire, to);
  write_fan(link.incast, to->mutable_incast());
  write_fan(link.outcast, to->mutable_outcast());
  if (!link.send_work.empty()) write_points(link.send_work, to->mutable_send_work());
  if (!link.receive_work.empty()) write_points(link.receive_work, to->mutable_receive_work());
  if (link.announced_bytes > 0) to->set_announced_bytes(link.announced_bytes);
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
  if (profile.task_s > 0) message.set_task_seconds(profile.task_s);
  if (profile.bundled_task_s) message.set_bundled_task_seconds(*profile.bundled_task_s);
  write_contention(profile.contention, &message);
  write_link(profile.between, message.mutable_between());
  write_link(profile.inside, message.mutable_inside());
  if (profile.node_shares_port) message.set_node_shares_port(true);
  if (profile.processors > 0) message.set_processors(profile.processors);
  if (!profile.upload.empty()) write_points(profile.upload, message.mutable_upload());
  if (!profile.download.empty()) write_points(profile.download, message.mutable_download());
  for (const auto& [name, curves] : profile.codecs) {
    wire::Codec* codec = message.add_codec();
    codec->set_name(name);
    if (!curves.encode.empty()) write_points(curves.encode, codec->mutable_encode());
    if (!curves.decode.empty()) write_points(curves.decode, codec->mutable_decode());
    if (!curves.merge.empty()) write_points(curves.merge, codec->mutable_merge());
    if (!curves.merge_base.empty()) write_points(curves.merge_base, codec->mutable_merge_base());
  }
  return proto::text_of(message);
}

}  // namespace casync
