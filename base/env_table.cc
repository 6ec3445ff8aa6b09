// SPDX-License-Identifier: Apache-2.0
#include "base/env.h"

namespace casync {
namespace {

using Type = EnvironmentVariable::Type;

constexpr EnvironmentVariable kTable[] = {
    {"CASYNC_PLAN", Type::kFile, "no plan",
     "Plan file of every session whose program names neither a plan nor a codec."},
    {"CASYNC_CODEC", Type::kText, "none",
     "Instead of a plan: the codec of every gradient, with parameters: `int4` or `int4:block=64,feedback=0`."},
    {"CASYNC_TRANSPORT", Type::kText, "ucx", "Network: `ucx`, `ucx:tcp`, `ucx:shm` or `loopback`."},
    {"CASYNC_TIMEOUT_SEC", Type::kNumber, "300", "Deadline of every wait for another rank, in seconds.", 0.001, 1e6},
    {"CASYNC_TRACE", Type::kDirectory, "no timeline",
     "Each rank writes its timeline into this folder, for `casync report`."},
    {"CASYNC_RECORD", Type::kDirectory, "no record",
     "Rank 0 writes into this folder, for `casync plan`: `model.txtpb`, which gradients there are and when they are "
     "ready "
     "and needed, and `gradients.safetensors`, samples of them."},
    {"CASYNC_STEPS", Type::kNumber, "the program decides",
     "Ends the program with exit code 0 after so many steps, without its exit handlers: for measurements.", 1, 1e9},
    {"CASYNC_LOG_LEVEL", Type::kText, "warn", "`trace`, `debug`, `info`, `warn`, `error` or `off`."},
    {"CASYNC_RANK", Type::kNumber, "the launcher's", "This process's rank, from 0.", 0, 65535},
    {"CASYNC_SIZE", Type::kNumber, "the launcher's", "How many ranks the job has.", 1, 65536},
    {"CASYNC_LOCAL_RANK", Type::kNumber, "the launcher's", "This process's place among the ranks of its node.", 0,
     65535},
    {"CASYNC_LOCAL_SIZE", Type::kNumber, "the launcher's", "How many ranks this node has.", 1, 65536},
    {"CASYNC_NODE", Type::kText, "the machine",
     "Name of this process's node for strategy `hierarchical`: ranks with the same name are on one node."},
    {"CASYNC_RENDEZVOUS", Type::kText, "the launcher's",
     "How ranks find each other: `host:port` (rank 0 listens there), `file:DIRECTORY` (one that all ranks see) "
     "or `pmix` (mpirun's or srun's server)."},
    {"CASYNC_TOKEN", Type::kText, "the launcher's", "Secret of the job: who does not know it cannot join."},
    {"CASYNC_TOKEN_FILE", Type::kFile, "no file",
     "File that holds the token instead; it must be this user's, mode 0600."},
    {"CASYNC_INSECURE", Type::kFlag, "0",
     "1 lets ranks meet at a bare `host:port` without a token: whoever reaches that address may join the job."},
    {"CASYNC_INTERFACE", Type::kText, "chosen", "Network interface for data and for rank 0's address, such as `eth0`."},
    {"CASYNC_LINK", Type::kText, "unpaced",
     "Paces each rank's sending and receiving to a rate and a latency: `1gbit` or `1gbit,1ms`."},
    {"CASYNC_CHECKSUM", Type::kFlag, "1", "0 leaves out the checksum of each payload."},
    {"CASYNC_HEARTBEAT_SEC", Type::kNumber, "0.5", "How often ranks show each other that they live, in seconds.", 0.01,
     60},
    {"CASYNC_DEAD_SEC", Type::kNumber, "5", "A rank silent for so many seconds has failed.", 0.05, 3600},
    {"CASYNC_THREADS", Type::kNumber, "cores per rank less one, at most 4",
     "Threads beside the progress thread that encode, merge and decode large partitions.", 0, 64},
    {"CASYNC_CACHE_DIR", Type::kDirectory, "`$XDG_CACHE_HOME/casync`, else `~/.cache/casync`",
     "Where compiled codecs and parts of plugins are kept; it must be this user's, and nobody else may write to it."},
    {"CASYNC_COMPILE_SEC", Type::kNumber, "120",
     "A C++ compiler or NVRTC that takes longer for one text is ended, in seconds.", 0.1, 3600},
    {"CASYNC_INCLUDE_DIR", Type::kDirectory, "beside the library",
     "Where the headers are that compiled codecs include: `compll`, `base` and `hwy`."},
    {"CASYNC_NVRTC", Type::kFile, "searched for",
     "The library `libnvrtc.so.13` that compiles kernels; else the loader's, the Python package's, a CUDA toolkit's."},
    {"CASYNC_LIB_DIR", Type::kDirectory, "beside the library", "Where to look first for the modules `libcasync_*.so`."},
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
      "# Which environment variables does CaSync read?\n"
      "\n"
      "An argument of the program wins over the variable; a variable wins over the launcher; set to nothing is the\n"
      "same as unset. A `CASYNC_*` name that is not here is reported once, with the name that was probably meant.\n"
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
      "Add a row to `base/env_table.cc`, read it with `env_text`, `env_number` or `env_flag` of `base/env.h`, and "
      "write\n"
      "this page anew: `build/dev/bin/environment_page > docs/environment.md`. A test compares the two, and another\n"
      "one looks for names that sources read and the table lacks.\n";
  return page;
}

}  // namespace casync
