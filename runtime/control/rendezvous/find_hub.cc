// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <sstream>
#include <thread>
#include <variant>

#include "base/log.h"
#include "runtime/control/rendezvous/rendezvous.h"
#include "runtime/control/wire/handshake.h"
#include "runtime/control/wire/reminder.h"
#include "runtime/control/wire/socket.h"

namespace casync::runtime {
namespace {

constexpr Seconds kConnectTime{5};
constexpr Seconds kResolveTime{5};
constexpr auto kFirstPause = std::chrono::milliseconds(5);
constexpr auto kMostPause = std::chrono::milliseconds(200);
/// A store or a port may still show an earlier job: a refusal is believed after so long.
constexpr Seconds kStaleTime{5};

/// One attempt that did not work: whether rank 0 may simply not be there yet, may be another job's, or said no.
struct Miss {
  enum class Kind { kAbsent, kDoubtful, kFinal } kind = Kind::kAbsent;
  Status why;
};
using Attempt = std::variant<Miss, Entrance>;

Clock::time_point sooner(Seconds seconds, Clock::time_point deadline) { return std::min(after(seconds), deadline); }

Result<std::string> next_packet(int fd, PacketReader& packets, Clock::time_point deadline) {
  for (;;) {
    auto packet = packets.next();
    if (!packet) return packet.status();
    if (packet->has_value()) return **packet;
    std::string bytes;
    CASYNC_RETURN_IF_ERROR(receive_some(fd, &bytes, deadline));
    packets.push(bytes);
  }
}

/// Errors here are about bytes and sockets: PeerFailure, Timeout, InvalidArgument (not our protocol), Unavailable
/// (wrong token).
Result<Verdict> shake_hands(int fd, MemberHandshake& handshake, PacketReader& packets, Clock::time_point deadline) {
  CASYNC_RETURN_IF_ERROR(send_all(fd, handshake.hello(), deadline));
  auto challenge = next_packet(fd, packets, deadline);
  if (!challenge) return challenge.status();
  auto proof = handshake.proof(*challenge);
  if (!proof) return proof.status();
  CASYNC_RETURN_IF_ERROR(send_all(fd, *proof, deadline));
  auto verdict = next_packet(fd, packets, deadline);
  if (!verdict) return verdict.status();
  return handshake.verdict(*verdict);
}

Miss explain(const Status& status, const SocketAddress& address) {
  switch (status.code()) {
    case StatusCode::kInvalidArgument:
      return {Miss::Kind::kDoubtful,
              unavailable(fmt::format("what listens on {} is not rank 0 of a casync job", address.text()))};
    case StatusCode::kUnavailable:
      return {
          Miss::Kind::kDoubtful,
          unavailable(fmt::format("wrong token: rank 0 at {} has another one; set the same CASYNC_TOKEN on all ranks",
                                  address.text()))};
    default: return {Miss::Kind::kAbsent, unavailable(fmt::format("{}: {}", address.text(), status.message()))};
  }
}

Attempt try_address(const SocketAddress& address, const Hello& hello, const std::string& token, Seconds dead,
                    Clock::time_point deadline);

/// Goes to the parent that rank 0 has named. Without an address: rank 0 does not know it yet.
Attempt try_parent(const std::string& addresses, const Hello& hello, const std::string& token, Seconds dead,
                   Clock::time_point deadline) {
  Miss miss{Miss::Kind::kAbsent, unavailable("rank 0 waits for the rank that speaks for this machine")};
  std::istringstream list(addresses);
  for (std::string address; list >> address;) {
    const auto where = parse_host_port(address);
    const auto resolved = where ? resolve(*where, deadline) : Result<std::vector<SocketAddress>>(where.status());
    if (!resolved) continue;
    Attempt attempt = try_address(resolved->front(), hello, token, dead, deadline);
    if (std::holds_alternative<Entrance>(attempt)) return attempt;
    miss = std::get<Miss>(std::move(attempt));
    if (miss.kind == Miss::Kind::kFinal) return miss;
  }
  miss.kind = Miss::Kind::kAbsent;
  return miss;
}

Attempt try_address(const SocketAddress& address, const Hello& hello, const std::string& token, Seconds dead,
                    Clock::time_point deadline) {
  auto fd = connect_to(address, sooner(kConnectTime, deadline));
  if (!fd) return Miss{Miss::Kind::kAbsent, fd.status()};
  set_connection_options(fd->get(), dead);
  MemberHandshake handshake(hello, token);
  PacketReader packets;
  auto verdict = shake_hands(fd->get(), handshake, packets, sooner(kHandshakeTime, deadline));
  if (!verdict) return explain(verdict.status(), address);
  if (verdict->kind == Verdict::Kind::kRefused) return Miss{Miss::Kind::kFinal, verdict->reason};
  if (verdict->kind == Verdict::Kind::kTryAgain) return Miss{Miss::Kind::kDoubtful, verdict->reason};
  if (verdict->kind == Verdict::Kind::kElsewhere) {
    fd->reset();
    return try_parent(verdict->reason.message(), hello, token, dead, deadline);
  }
  SessionKeys keys = handshake.keys();
  return Entrance{std::move(*fd),         handshake.hub(), verdict->epoch, std::move(keys.to_member),
                  std::move(keys.to_hub), token,           packets.rest()};
}

/// Ranks that start together ask again at different times.
Clock::duration jittered(Clock::duration pause, std::minstd_rand& random) {
  return std::uniform_int_distribution<Clock::rep>(pause.count() / 2, pause.count() * 3 / 2)(random) *
         Clock::duration(1);
}

/// `token` "": the store's.
Result<Meeting> meeting_of(const GroupOptions& options, const std::string& token, Clock::time_point deadline) {
  if (options.store != nullptr) {
    auto meeting = look_up(*options.store, deadline);
    if (meeting && !token.empty()) meeting->token = token;
    return meeting;
  }
  auto where = parse_host_port(options.address);
  if (!where) return where.status();
  auto addresses = resolve(*where, sooner(kResolveTime, deadline));
  if (!addresses) return addresses.status();
  std::vector<SocketAddress> all;
  for (int i = 0; i < options.ports; ++i) {
    for (const SocketAddress& address : *addresses) all.push_back(nth_port(address, i));
  }
  return Meeting{std::move(all), token};
}

/// Rank 0 may still leave its addresses. The name of its host, too, may come with it: a cluster that names containers
/// once they run does not know it earlier.
bool may_come(const Status& status, const GroupOptions& options) {
  if (status.code() == StatusCode::kTimeout) return true;
  return options.store == nullptr && status.code() == StatusCode::kUnavailable;
}

Attempt try_all(const Meeting& meeting, const GroupOptions& options, const Identity& self, Clock::time_point deadline) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
  const Hello hello{self, static_cast<std::uint64_t>(std::max<long long>(left, 0))};
  Miss miss{Miss::Kind::kAbsent, unavailable("rank 0 has no address")};
  for (const SocketAddress& address : meeting.addresses) {
    Attempt attempt = try_address(address, hello, meeting.token, options.dead, deadline);
    if (std::holds_alternative<Entrance>(attempt)) return attempt;
    Miss& latest = std::get<Miss>(attempt);
    if (latest.kind == Miss::Kind::kFinal) return attempt;
    // A "no" says more than silence on another address.
    if (latest.kind == Miss::Kind::kDoubtful || miss.kind == Miss::Kind::kAbsent) miss = std::move(latest);
  }
  return miss;
}

}  // namespace

Result<Entrance> find_hub(const GroupOptions& options, const Identity& self, Clock::time_point deadline) {
  const Clock::time_point start = Clock::now();
  Clock::time_point remind_at = start + kFirstReminder;
  Clock::time_point believe_at = Clock::time_point::max();
  Status shown;
  std::minstd_rand random(std::random_device{}());
  const bool has_none = options.store == nullptr && options.token.empty();
  const std::string token = has_none ? accident_token(options) : options.token;
  for (auto pause = kFirstPause;; pause = std::min(2 * pause, kMostPause)) {
    Miss miss;
    auto meeting = meeting_of(options, token, std::min(deadline, remind_at));
    if (!meeting) {
      if (!may_come(meeting.status(), options)) return meeting.status();
      miss.why = meeting.status();
    } else {
      Attempt attempt = try_all(*meeting, options, self, deadline);
      if (auto* entrance = std::get_if<Entrance>(&attempt)) return std::move(*entrance);
      miss = std::move(std::get<Miss>(attempt));
    }
    if (miss.kind == Miss::Kind::kFinal) return miss.why;
    // With several ports another job may well have the first: only the deadline ends the search.
    if (options.ports > 1) miss.kind = Miss::Kind::kAbsent;
    if (miss.kind == Miss::Kind::kAbsent) believe_at = Clock::time_point::max();
    if (miss.kind == Miss::Kind::kDoubtful) believe_at = std::min(believe_at, after(kStaleTime));
    const Clock::time_point now = Clock::now();
    // An attempt that was cut short by the deadline says less than the previous one.
    if (now < deadline || shown.is_ok()) shown = miss.why;
    if (now >= deadline) {
      const Seconds waited = now - start;
      return timeout_error(
          fmt::format("rank 0 of {} did not come within {:.1f} s: {}", self.ranks, waited.count(), shown.message()));
    }
    if (now >= believe_at) return miss.why;
    if (now >= remind_at) {
      const Seconds waited = now - start;
      log().warn("rank {} is still waiting for rank 0 of {}, after {:.0f} s: {}", self.rank, self.ranks, waited.count(),
                 shown.message());
      remind_at = now + (now - start);
    }
    std::this_thread::sleep_for(std::min(jittered(pause, random), deadline - now));
  }
}

}  // namespace casync::runtime
