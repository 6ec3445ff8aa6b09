// SPDX-License-Identifier: Apache-2.0
#include "tools/casync/tune/ranks.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <set>
#include <sstream>
#include <thread>

#include "base/clock.h"
#include "base/env.h"
#include "base/network_interface.h"
#include "runtime/control/join_job.h"
#include "runtime/control/wire/address.h"

namespace casync::tools {
namespace {

constexpr const char* kFile = "file:";

bool is_directory(const std::string& rendezvous) { return rendezvous.starts_with(kFile); }

/// Rank 0's address for all ranks, as "host:port" has it: the rendezvous' own host, and where that is a directory or a
/// service, this machine's address on the job's interface. Errors as interface_addresses.
Result<std::string> address_of_rank_0(const runtime::Launch& launch, int nodes, int port) {
  const std::string port_text = ":" + std::to_string(port);
  if (runtime::parse_host_port(launch.rendezvous)) {
    return launch.rendezvous.substr(0, launch.rendezvous.rfind(':')) + port_text;
  }
  if (nodes == 1) return "127.0.0.1" + port_text;
  const std::string interfaces = env_text("CASYNC_INTERFACE").value_or("");
  const Result<std::vector<runtime::SocketAddress>> addresses =
      runtime::interface_addresses(listed_interfaces(interfaces));
  CASYNC_RETURN_IF_ERROR(addresses.status());
  return addresses->front().with_port(static_cast<std::uint16_t>(port)).text();
}

}  // namespace

Result<std::unique_ptr<TuneRanks>> TuneRanks::join(const runtime::Launch& launch, double patience_s) {
  if (launch.ranks < 2) return invalid_argument("one rank synchronizes nothing: expected at least two");
  if (launch.rendezvous == "store") {
    return invalid_argument("torch's store is reached from Python only: run `torchrun ... -m casync tune ...`");
  }
  std::unique_ptr<TuneRanks> ranks(new TuneRanks(launch, patience_s));
  Result<std::unique_ptr<runtime::Group>> group = runtime::join_job(launch, {}, Seconds(patience_s));
  CASYNC_RETURN_IF_ERROR(group.status());
  ranks->group_ = std::move(*group);
  const Result<std::vector<std::string>> nodes =
      ranks->group_->all_gather("nodes", runtime::node_name(launch), after(Seconds(patience_s)));
  CASYNC_RETURN_IF_ERROR(nodes.status());
  ranks->nodes_ = static_cast<int>(std::set<std::string>(nodes->begin(), nodes->end()).size());
  return ranks;
}

Result<std::string> TuneRanks::from_rank_0(const std::string& what, const std::string& mine) {
  Result<std::vector<std::string>> all = group_->all_gather(what, rank() == 0 ? mine : "", after(Seconds(patience_s_)));
  CASYNC_RETURN_IF_ERROR(all.status());
  return std::move(all->front());
}

Status TuneRanks::meet(const std::string& what) { return from_rank_0(what, "").status(); }

Result<std::string> TuneRanks::phase_rendezvous() {
  if (!is_directory(launch_.rendezvous)) return free_address();
  // A name of its own: launchers give the number of a job that has ended to another one, which finds its folders.
  std::string path = launch_.rendezvous.substr(std::strlen(kFile)) + "/tune" + std::to_string(phases_) + ".XXXXXX";
  if (::mkdtemp(path.data()) == nullptr) return unavailable(path + " cannot be made: " + std::strerror(errno));
  return kFile + path;
}

Result<std::string> TuneRanks::free_address() const {
  const Result<int> port = find_free_port();
  CASYNC_RETURN_IF_ERROR(port.status());
  return address_of_rank_0(launch_, nodes_, *port);
}

Result<JobPlace> TuneRanks::next_place() {
  ++phases_;
  JobPlace place;
  place.ranks = ranks();
  place.local_rank = launch_.local_rank;
  place.local_ranks = launch_.local_ranks;
  Result<std::string> rendezvous = rank() == 0 ? phase_rendezvous() : std::string();
  Result<std::string> token = rank() == 0 ? make_token() : std::string();
  Result<std::string> torch_address = rank() == 0 ? free_address() : std::string();
  for (const Status& status : {rendezvous.status(), token.status(), torch_address.status()}) {
    if (!status) {
      give_up(status);
      return status;
    }
  }
  const Result<std::string> told = from_rank_0("place", *rendezvous + "\n" + *token + "\n" + *torch_address);
  CASYNC_RETURN_IF_ERROR(told.status());
  std::istringstream lines(*told);
  std::string torch;
  std::getline(lines, place.rendezvous);
  std::getline(lines, place.token);
  std::getline(lines, torch);
  const Result<runtime::HostPort> torch_place = runtime::parse_host_port(torch);
  CASYNC_RETURN_IF_ERROR(torch_place.status());
  place.torch_host = torch_place->host;  // without brackets: torch resolves it as it is
  place.torch_port = torch_place->port;
  place.threads = std::max(1, static_cast<int>(std::thread::hardware_concurrency()) / std::max(1, place.local_ranks));
  return place;
}

Status TuneRanks::close() { return group_->close(after(Seconds(10))); }

}  // namespace casync::tools
