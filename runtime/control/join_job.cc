// SPDX-License-Identifier: Apache-2.0
#include "runtime/control/join_job.h"

#include "base/env.h"
#include "base/log.h"
#include "base/network_interface.h"
#include "base/processors.h"
#include "runtime/control/rendezvous/pmix_store.h"
#include "runtime/control/wire/identity.h"

namespace casync::runtime {

std::string interface_for(const Launch& launch, int local_ranks) {
  const std::string named = env_text("CASYNC_INTERFACE").value_or("");
  if (!listed_interfaces(named).empty()) return named;
  // A job of one machine has no business on its network.
  return local_ranks == launch.ranks ? "lo" : "";
}

std::string node_name(const Launch& launch) {
  if (!launch.node.empty()) return "named " + launch.node;
  const std::string machine = own_identity(launch.rank, launch.ranks).machine;
  return machine.empty() ? "of rank " + std::to_string(launch.rank) : "machine " + machine;
}

std::string processors_name(const Launch& launch) {
  const std::string machine = own_identity(launch.rank, launch.ranks).machine;
  return (machine.empty() ? "of rank " + std::to_string(launch.rank) : machine) + " " + text_of(usable_processors());
}

Result<Pulse> read_pulse() {
  const Result<std::optional<double>> beat = env_number("CASYNC_HEARTBEAT_SEC"), dead = env_number("CASYNC_DEAD_SEC");
  if (!beat) return beat.status();
  if (!dead) return dead.status();
  Pulse pulse;
  pulse.beat = Seconds(beat->value_or(pulse.beat.count()));
  pulse.dead = Seconds(dead->value_or(pulse.dead.count()));
  return pulse;
}

Result<std::unique_ptr<Group>> join_job(const Launch& launch, const StoreFunctions& functions, Seconds timeout,
                                        Seconds stall) {
  const bool has_store = functions.set && functions.get;
  log().info("rank {} of {} ({}), rendezvous {}", launch.rank, launch.ranks, launch.source,
             has_store ? "the program's store" : launch.rendezvous);
  std::unique_ptr<Store> store;
  if (has_store) {
    store = make_callback_store(functions);
  } else if (launch.rendezvous.rfind("file:", 0) == 0) {
    store = make_file_store(launch.rendezvous.substr(5));
  } else if (launch.rendezvous == "pmix") {
    auto pmix = open_pmix_store(launch.rank, launch.ranks, after(timeout));
    if (!pmix) return pmix.status();
    store = std::move(*pmix);
  } else if (launch.rendezvous == "store") {
    return unavailable(
        "the program's own store is reached by its functions only: give them to the session (Python does, under "
        "torchrun), or set CASYNC_RENDEZVOUS to \"host:port\" of rank 0");
  }
  GroupOptions options;
  options.job = launch.job;
  options.rank = launch.rank;
  options.ranks = launch.ranks;
  options.token = launch.token;
  options.store = store.get();
  if (store == nullptr) options.address = launch.rendezvous;
  options.ports = launch.ports;
  const Result<bool> insecure = env_flag("CASYNC_INSECURE", false);
  if (!insecure) return insecure.status();
  options.insecure = *insecure;
  options.interface_name = interface_for(launch, launch.local_ranks);
  options.timeout = timeout;
  options.stall = stall;
  const Result<Pulse> pulse = read_pulse();
  if (!pulse) return pulse.status();
  options.beat = pulse->beat;
  options.dead = pulse->dead;
  return Group::join(options);
}

}  // namespace casync::runtime
