// SPDX-License-Identifier: Apache-2.0
#include "tools/casync/launch/job.h"

#include <sys/signalfd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "runtime/control/group/descriptors.h"
#include "tools/casync/launch/environment.h"
#include "tools/casync/launch/supervisor.h"
#include "tools/casync/private_directory.h"

namespace casync::tools {
namespace {

/// Two pipes of each rank are open while it runs, and some more while one is started.
runtime::DescriptorNeed descriptors_of(int ranks) {
  constexpr int kBeside = 16;
  const int need = 2 * ranks + kBeside;
  return {need, need, "the output of " + std::to_string(ranks) + " ranks"};
}

bool is_ignored(int signal) {
  struct sigaction now {};
  return ::sigaction(signal, nullptr, &now) == 0 && now.sa_handler == SIG_IGN;
}

/// Turns signals into a descriptor while it lives; its end restores the earlier mask. A signal that this process
/// ignores, as nohup makes it, stays ignored: a blocked one would be in the descriptor all the same.
class SignalDescriptor {
 public:
  SignalDescriptor() {
    sigset_t set;
    ::sigemptyset(&set);
    ::sigaddset(&set, SIGCHLD);
    for (int signal : {SIGINT, SIGTERM, SIGHUP}) {
      if (!is_ignored(signal)) ::sigaddset(&set, signal);
    }
    ::sigprocmask(SIG_BLOCK, &set, &before_);
    descriptor_ = UniqueFd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
    // Our own output may go to a reader that left: that is answered where we write.
    pipe_before_ = std::signal(SIGPIPE, SIG_IGN);
  }
  ~SignalDescriptor() {
    std::signal(SIGPIPE, pipe_before_);
    ::sigprocmask(SIG_SETMASK, &before_, nullptr);
  }
  int get() const { return descriptor_.get(); }

 private:
  sigset_t before_{};
  UniqueFd descriptor_;
  void (*pipe_before_)(int) = SIG_DFL;
};

Result<JobPlace> make_place(const JobOptions& options, const std::string& directory) {
  JobPlace place;
  place.ranks = options.ranks;
  place.rendezvous = options.rendezvous.empty() ? "file:" + directory : options.rendezvous;
  const char* known = std::getenv("CASYNC_TOKEN");
  place.token = options.token.empty() && known != nullptr ? known : options.token;
  if (place.token.empty()) {
    Result<std::string> token = make_token();
    CASYNC_RETURN_IF_ERROR(token.status());
    place.token = *token;
  }
  if (options.torch) {
    Result<int> port = find_free_port();
    CASYNC_RETURN_IF_ERROR(port.status());
    place.torch_port = *port;
    // Each rank's thread pool would otherwise take all cores, and the ranks wait for each other's spinning.
    place.threads = std::max(1, static_cast<int>(std::thread::hardware_concurrency()) / options.ranks);
  }
  return place;
}

}  // namespace

Result<JobEnd> run_job(const JobOptions& options) {
  CASYNC_RETURN_IF_ERROR(runtime::reserve_descriptors(descriptors_of(options.ranks)));
  PrivateDirectory directory;
  if (options.rendezvous.empty()) {
    Result<PrivateDirectory> made = PrivateDirectory::make();
    CASYNC_RETURN_IF_ERROR(made.status());
    directory = std::move(*made);
  }
  Result<JobPlace> place = make_place(options, directory.path());
  CASYNC_RETURN_IF_ERROR(place.status());
  const SignalDescriptor signals;
  if (signals.get() < 0) return unavailable(std::string("no signal descriptor: ") + std::strerror(errno));
  const std::vector<std::string> inherited = own_environment();
  Supervisor supervisor(options, signals.get());
  for (Rank rank = 0; rank < options.ranks; ++rank) {
    Result<Child> child = start_child(options.program, rank_environment(inherited, *place, rank));
    if (!child) {
      supervisor.give_up();
      return child.status();
    }
    supervisor.add(rank, std::move(*child));
  }
  return supervisor.watch();
}

}  // namespace casync::tools
