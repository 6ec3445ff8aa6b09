// SPDX-License-Identifier: Apache-2.0
#include "tools/casync/tune/ranks.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <set>
#include <sstream>
#include <thread>

#include "base/clock.h"
#include "runtime/control/join_job.h"

namespace casync::tools {
namespace {

constexpr const char* kFile = "file:";

bool is_directory(const std::string& rendezvous) { return rendezvous.starts_with(kFile); }

/// "host" of "host:port", with the brackets of an IPv6 address.
std::string host_of(const std::string& address) { return address.substr(0, address.rfind(':')); }

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
  if (!is_directory(launch_.rendezvous)) {
    const Result<int> port = find_free_port();
    CASYNC_RETURN_IF_ERROR(port.status());
    return host_of(launch_.rendezvous) + ":" + std::to_string(*port);
  }
  const std::string path = launch_.rendezvous.substr(std::strlen(kFile)) + "/tune" + std::to_string(phases_);
  if (::mkdir(path.c_str(), 0700) != 0) return unavailable(path + " cannot be made: " + std::strerror(errno));
  return kFile + path;
}

Result<JobPlace> TuneRanks::next_place() {
  ++phases_;
  JobPlace place;
  place.ranks = ranks();
  place.local_rank = launch_.local_rank;
  place.local_ranks = launch_.local_ranks;
  Result<std::string> rendezvous = rank() == 0 ? phase_rendezvous() : std::string();
  Result<std::string> token = rank() == 0 ? make_token() : std::string();
  Result<int> torch_port = rank() == 0 ? find_free_port() : 0;
  for (const Status& status : {rendezvous.status(), token.status(), torch_port.status()}) {
    if (!status) {
      give_up(status);
      return status;
    }
  }
  const std::string torch_host = is_directory(launch_.rendezvous) ? "127.0.0.1" : host_of(launch_.rendezvous);
  const Result<std::string> told =
      from_rank_0("place", *rendezvous + "\n" + *token + "\n" + torch_host + "\n" + std::to_string(*torch_port));
  CASYNC_RETURN_IF_ERROR(told.status());
  std::istringstream lines(*told);
  std::string port;
  std::getline(lines, place.rendezvous);
  std::getline(lines, place.token);
  std::getline(lines, place.torch_host);
  std::getline(lines, port);
  place.torch_port = std::stoi(port);
  place.threads = std::max(1, static_cast<int>(std::thread::hardware_concurrency()) / std::max(1, place.local_ranks));
  return place;
}

Status TuneRanks::close() { return group_->close(after(Seconds(10))); }

}  // namespace casync::tools
