// SPDX-License-Identifier: Apache-2.0
#include "runtime/control/launch/launch_sources.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <charconv>

namespace casync::runtime {
namespace {

constexpr int kSlurmPorts = 8;

/// Reads variables and keeps the first thing that is wrong with one.
class Variables {
 public:
  explicit Variables(const Environment& env) : env_(env) {}

  /// An empty variable is an unset one.
  std::string text(const char* name) const { return env_(name).value_or(""); }
  bool has(const char* name) const { return !text(name).empty(); }

  std::optional<Said> number(const char* name) {
    const std::string digits = text(name);
    if (digits.empty()) return std::nullopt;
    int value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error == std::errc() && end == digits.data() + digits.size() && value >= 0) return Said{name, value};
    if (status_.is_ok()) status_ = invalid_argument(fmt::format("{}={} is no number", name, digits));
    return std::nullopt;
  }

  void read(LaunchSource& source, const char* rank, const char* ranks, const char* local_rank,
            const char* local_ranks) {
    source.rank = number(rank);
    source.ranks = number(ranks);
    source.local_rank = number(local_rank);
    source.local_ranks = number(local_ranks);
    if (source.rank.has_value() != source.ranks.has_value() && status_.is_ok()) {
      const Said& here = source.rank ? *source.rank : *source.ranks;
      status_ =
          invalid_argument(fmt::format("{} is set and {} is not: set both", here.text(), source.rank ? ranks : rank));
    }
  }

  const Status& status() const { return status_; }

 private:
  const Environment& env_;
  Status status_;
};

/// The launcher gives each rank a PMIx server to talk to.
bool serves_pmix(const Variables& env) { return env.has("PMIX_NAMESPACE") && env.has("PMIX_RANK"); }

/// A directory only this user has, for ranks on one machine.
std::string local_rendezvous(const Variables& env, const std::string& job) {
  std::string name;
  for (const char c : job) name += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  const std::string base = env.text("XDG_RUNTIME_DIR");
  if (!base.empty() && access(base.c_str(), W_OK) == 0) return fmt::format("file:{}/casync/{}", base, name);
  return fmt::format("file:/tmp/casync-{}/{}", geteuid(), name);
}

LaunchSource read_torch(Variables& env) {
  LaunchSource source;
  // env:// and mp.spawn users set the same four variables by hand.
  source.name = env.has("TORCHELASTIC_RUN_ID") ? "torchrun" : "torch";
  env.read(source, "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE");
  source.rendezvous = "store";
  source.job = env.text("TORCHELASTIC_RUN_ID") + "." + env.text("TORCHELASTIC_RESTART_COUNT");
  return source;
}

LaunchSource read_open_mpi(Variables& env) {
  LaunchSource source;
  source.name = "mpirun";
  env.read(source, "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
           "OMPI_COMM_WORLD_LOCAL_SIZE");
  source.job = env.text("PMIX_NAMESPACE");
  if (source.job.empty()) source.job = env.text("OMPI_MCA_ess_base_jobid");
  const bool one_machine = source.ranks && source.local_ranks && source.ranks->value == source.local_ranks->value;
  if (one_machine && !source.job.empty()) {
    source.rendezvous = local_rendezvous(env, source.job);
  } else if (serves_pmix(env)) {
    source.rendezvous = "pmix";
  } else {
    source.hint = "mpirun does not say on which machine rank 0 is";
  }
  return source;
}

/// A batch script has SLURM_PROCID=0 and SLURM_NTASKS too, without being a task: only srun makes steps.
bool in_slurm_step(const Variables& env) {
  return env.has("SLURM_STEP_ID") || env.has("SLURM_STEPID") || env.has("SLURM_STEP_NODELIST");
}

const char* slurm_size(const Variables& env) {
  return env.has("SLURM_STEP_NUM_TASKS") ? "SLURM_STEP_NUM_TASKS" : "SLURM_NTASKS";
}

/// `srun --mpi=pmi2` numbers its tasks in mpiexec's variables, too.
bool numbers_slurm_tasks(const LaunchSource& pmi, Variables& env) {
  if (!pmi.rank || !pmi.ranks || !in_slurm_step(env)) return false;
  const std::optional<Said> rank = env.number("SLURM_PROCID"), ranks = env.number(slurm_size(env));
  return rank && ranks && rank->value == pmi.rank->value && ranks->value == pmi.ranks->value;
}

LaunchSource read_pmi(Variables& env) {
  LaunchSource source;
  source.name = "mpiexec";
  env.read(source, "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS");
  if (numbers_slurm_tasks(source, env)) return {};  // read_slurm knows more of them
  source.hint = "mpiexec does not say on which machine rank 0 is";
  return source;
}

LaunchSource read_slurm(Variables& env) {
  LaunchSource source;
  source.name = "srun";
  source.may_be_outer = true;
  if (!in_slurm_step(env)) return source;
  env.read(source, "SLURM_PROCID", slurm_size(env), "SLURM_LOCALID", "");
  const std::string step = env.has("SLURM_STEP_ID") ? env.text("SLURM_STEP_ID") : env.text("SLURM_STEPID");
  source.job = env.text("SLURM_JOB_ID") + "." + step;
  if (serves_pmix(env)) {
    source.rendezvous = "pmix";
    return source;
  }
  const std::string nodes =
      env.has("SLURM_STEP_NODELIST") ? env.text("SLURM_STEP_NODELIST") : env.text("SLURM_NODELIST");
  const std::string host = first_host(nodes);
  if (host.empty()) {
    source.hint = fmt::format("no host can be read from the node list \"{}\"", nodes);
    return source;
  }
  // Below the range that the kernel gives out by itself. FNV-1a spreads neighbouring jobs, and a taken port is passed
  // by.
  std::uint32_t hash = 2166136261u;
  for (const char c : source.job) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
  source.rendezvous = fmt::format("{}:{}", host, 20000 + hash % 10000);
  source.ports = kSlurmPorts;
  return source;
}

LaunchSource read_casync(Variables& env) {
  LaunchSource source;
  source.name = "CASYNC_*";
  env.read(source, "CASYNC_RANK", "CASYNC_SIZE", "CASYNC_LOCAL_RANK", "CASYNC_LOCAL_SIZE");
  return source;
}

}  // namespace

std::string first_host(const std::string& nodelist) {
  std::string host;
  for (std::size_t i = 0; i < nodelist.size() && nodelist[i] != ','; ++i) {
    const char c = nodelist[i];
    if (c == '[') {
      const std::size_t close = nodelist.find(']', i);
      if (close == std::string::npos) return "";
      host += nodelist.substr(i + 1, std::min(nodelist.find_first_of("-,", i), close) - i - 1);
      i = close;
    } else if (std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '.' || c == '_') {
      host += c;
    } else {
      return "";
    }
  }
  return host;
}

Result<std::vector<LaunchSource>> read_sources(const Environment& env) {
  Variables variables(env);
  std::vector<LaunchSource> found;
  for (const auto& read : {read_casync, read_torch, read_open_mpi, read_pmi, read_slurm}) {
    LaunchSource source = read(variables);
    if (source.rank || source.ranks) found.push_back(std::move(source));
  }
  if (!variables.status().is_ok()) return variables.status();
  return found;
}

}  // namespace casync::runtime
