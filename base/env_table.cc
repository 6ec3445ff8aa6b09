// SPDX-License-Identifier: Apache-2.0
#include "base/env.h"

namespace casync {
namespace {

using Type = EnvironmentVariable::Type;

constexpr EnvironmentVariable kTable[] = {
    {"CASYNC_PLAN", Type::kFile, "no plan",
     "Plan file of each session that the program opens without a plan and a codec."},
    {"CASYNC_CODEC", Type::kText, "none",
     "Codec of every gradient, instead of a plan: `int4`, or with parameters `int4:block=64,feedback=0`."},
    {"CASYNC_TRANSPORT", Type::kText, "ucx",
     "Network: the name of a transport, such as `ucx`, `ucx:tcp` or `loopback`; on GPUs also `nccl`."},
    {"CASYNC_TIMEOUT_SEC", Type::kNumber, "300", "Deadline of every wait for another rank, in seconds.", 0.001, 1e6},
    {"CASYNC_TRACE", Type::kDirectory, "no timeline",
     "Each rank writes its timeline into this folder, for `casync report`."},
    {"CASYNC_RECORD", Type::kDirectory, "no record",
     "Rank 0 writes into this folder, for `casync plan`: `model.txtpb`, the gradients, the times when they are ready "
     "and needed, and the ranks that are slower than the others, if it is set on all ranks; and "
     "`gradients.safetensors`, samples of the gradients' values."},
    {"CASYNC_STEPS", Type::kNumber, "the program decides",
     "Number of steps after which the program ends with exit code 0, without its exit handlers: for measurements.", 1,
     1e9},
    {"CASYNC_LOG_LEVEL", Type::kText, "warn; in Python the level of the logger `casync`",
     "`trace`, `debug`, `info`, `warn`, `error` or `off`."},
    {"CASYNC_RANK", Type::kNumber, "the launcher's", "This process's rank, from 0.", 0, 65535},
    {"CASYNC_SIZE", Type::kNumber, "the launcher's", "Number of ranks of the job.", 1, 65536},
    {"CASYNC_LOCAL_RANK", Type::kNumber, "the launcher's", "This process's number among the ranks of its node, from 0.",
     0, 65535},
    {"CASYNC_LOCAL_SIZE", Type::kNumber, "the launcher's", "Number of ranks of this node.", 1, 65536},
    {"CASYNC_NODE", Type::kText, "the machine",
     "Name of this process's node: ranks with the same name are on one node. Hierarchical strategies, servers and "
     "credit depend on it."},
    {"CASYNC_RENDEZVOUS", Type::kText, "the launcher's",
     "Meeting point of the ranks: `host:port` (rank 0 listens there), `file:DIRECTORY` (all ranks see it), `pmix` "
     "(the server of mpirun or srun) or `store` (torch's, under torchrun)."},
    {"CASYNC_TOKEN", Type::kText, "the launcher's", "Secret of the job. A process without it cannot join."},
    {"CASYNC_TOKEN_FILE", Type::kFile, "no file",
     "File with the token, instead of `CASYNC_TOKEN`. It must belong to this user and have mode 0600 or 0400."},
    {"CASYNC_INSECURE", Type::kFlag, "0",
     "1 lets ranks meet at `host:port` without a token: any process that reaches the address can join the job."},
    {"CASYNC_INTERFACE", Type::kText, "[chosen](transports.md#the-network-interface)",
     "Network interface of the data and of rank 0's address, such as `eth0`. From a list, `eth0,eth1`, each rank takes "
     "[the nearest to its GPU](transports.md#several-interfaces); ranks take equally near ones in turn."},
    {"CASYNC_LINK", Type::kText, "unpaced",
     "Limits each rank's sending and receiving to a rate, and adds a latency: `1gbit` or `1gbit,1ms`."},
    {"CASYNC_CHECKSUM", Type::kFlag, "1", "0 leaves out the checksum of each payload."},
    {"CASYNC_HEARTBEAT_SEC", Type::kNumber, "0.5",
     "Interval of the heartbeats between ranks, in seconds. The same on all ranks.", 0.01, 60},
    {"CASYNC_DEAD_SEC", Type::kNumber, "5",
     "A rank that is silent for this many seconds has failed. The same on all ranks.", 0.05, 3600},
    {"CASYNC_THREADS", Type::kNumber, "cores per rank less one, at most 4",
     "Number of threads, in addition to the progress thread, that encode, merge and decode large partitions.", 0, 64},
    {"CASYNC_PINNED_MB", Type::kNumber, "half of the memory of the host, shared by the ranks of its node",
     "Most pinned memory of a session on a GPU, in MiB. Gradients that need more are refused with the numbers.", 1,
     1e9},
    {"CASYNC_CACHE_DIR", Type::kDirectory, "`$XDG_CACHE_HOME/casync`, else `~/.cache/casync`",
     "Cache of compiled codecs and parts of plugins. It must belong to this user, and nobody else may write to it; "
     "otherwise `casync-cache-UID` in `TMPDIR` or `/tmp` takes its place."},
    {"CASYNC_COMPILE_SEC", Type::kNumber, "120",
     "Time limit of the C++ compiler and of NVRTC for one text, in seconds.", 0.1, 3600},
    {"CASYNC_INCLUDE_DIR", Type::kDirectory, "relative to the library",
     "Headers that compiled codecs include: `compll`, `base` and `hwy`."},
    {"CASYNC_KERNEL_DIR", Type::kDirectory, "relative to the library",
     "Kernels of built-in codecs for GPUs, compiled when the library was built. A folder without any makes NVRTC "
     "compile all."},
    {"CASYNC_NVRTC", Type::kFile, "searched for",
     "The library that compiles kernels, `libnvrtc.so.13` or `libnvrtc.so.12`. When unset: that of the loader, the "
     "Python package, or a CUDA toolkit."},
    {"CASYNC_LIB_DIR", Type::kDirectory, "the library's",
     "Folder that is searched first for the modules `libcasync_*.so`."},
};

std::string kind(const EnvironmentVariable& variable) {
  switch (variable.type) {
    case Type::kText: return "text";
    case Type::kFile: return "file";
    case Type::kDirectory: return "folder";
    case Type::kNumber: return "number";
    case Type::kFlag: return "1 or 0";
  }
  return "?";
}

}  // namespace

std::span<const EnvironmentVariable> environment_table() { return kTable; }

std::string environment_page() {
  std::string page =
      "# Environment variables\n"
      "\n"
      "These variables change the settings of a job without a change of its program. An argument of the program\n"
      "overrides the variable, and a variable overrides the launcher; of ranks and sizes no two may differ. An empty\n"
      "value is the same as no value. A `CASYNC_*` name that is not in the table is reported once, with the most "
      "similar\n"
      "name.\n"
      "\n"
      "| variable | kind | when unset | meaning |\n"
      "| --- | --- | --- | --- |\n";
  for (const EnvironmentVariable& variable : environment_table()) {
    page += std::string("| `") + variable.name + "` | " + kind(variable) + " | " + variable.initial + " | " +
            variable.meaning + " |\n";
  }
  page +=
      "\n"
      "## One more variable\n"
      "\n"
      "1. Add a row to `base/env_table.cc`.\n"
      "2. Read the variable with `env_text`, `env_number` or `env_flag` of `base/env.h`.\n"
      "3. Write this page: `build/dev/bin/environment_page > docs/environment.md`.\n"
      "\n"
      "One test compares the page with the table; another one finds variables that sources read and the table lacks.\n";
  return page;
}

}  // namespace casync
