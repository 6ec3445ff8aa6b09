// SPDX-License-Identifier: Apache-2.0
#include "runtime/control/launch/launch.h"

#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <map>

#include "runtime/control/launch/launch_sources.h"
#include "tests/runtime/control/control_support.h"

using namespace casync;
using namespace casync::runtime;
using Catch::Matchers::Contains;

namespace {

using Variables = std::map<std::string, std::string>;

Result<Launch> launch(const Variables& variables, const LaunchArguments& arguments = {}) {
  return read_launch(arguments, [&](const char* name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    if (found == variables.end()) return std::nullopt;
    return found->second;
  });
}

Variables operator+(Variables a, const Variables& b) {
  a.insert(b.begin(), b.end());
  return a;
}

const Variables kTorchrun = {{"RANK", "3"},
                             {"WORLD_SIZE", "8"},
                             {"LOCAL_RANK", "1"},
                             {"LOCAL_WORLD_SIZE", "2"},
                             {"MASTER_ADDR", "node0"},
                             {"MASTER_PORT", "29500"},
                             {"TORCHELASTIC_RUN_ID", "abc"},
                             {"TORCHELASTIC_RESTART_COUNT", "1"}};
const Variables kMpirun = {{"OMPI_COMM_WORLD_RANK", "1"},
                           {"OMPI_COMM_WORLD_SIZE", "4"},
                           {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                           {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"},
                           {"PMIX_NAMESPACE", "prte-host@1"}};
const Variables kPmix = {{"PMIX_NAMESPACE", "job.1"}, {"PMIX_RANK", "2"}};
const Variables kSrun = {{"SLURM_PROCID", "2"},  {"SLURM_NTASKS", "4"},  {"SLURM_LOCALID", "0"},
                         {"SLURM_JOB_ID", "99"}, {"SLURM_STEP_ID", "0"}, {"SLURM_STEP_NODELIST", "node[003-004]"}};
const Variables kPmi2 = {{"PMI_RANK", "2"}, {"PMI_SIZE", "4"}};
const Variables kCasync = {{"CASYNC_RANK", "1"},
                           {"CASYNC_SIZE", "4"},
                           {"CASYNC_LOCAL_RANK", "1"},
                           {"CASYNC_LOCAL_SIZE", "4"},
                           {"CASYNC_RENDEZVOUS", "file:/tmp/x"},
                           {"CASYNC_TOKEN", "0123456789"}};

}  // namespace

TEST_CASE("launch: each launcher's variables are understood") {
  struct Row {
    const char* name;
    Variables variables;
    int rank, ranks, local_rank, local_ranks;
    const char* source;
    const char* rendezvous;  // a beginning
    const char* job;
  };
  const std::string own = "file:/tmp/casync-" + std::to_string(geteuid()) + "/prte_host_1";
  const std::vector<Row> rows = {
      {"nothing", {}, 0, 1, 0, 1, "alone", "", ""},
      {"casync", kCasync, 1, 4, 1, 4, "CASYNC_*", "file:/tmp/x", ""},
      {"torchrun", kTorchrun, 3, 8, 1, 2, "torchrun", "store", "abc.1"},
      {"env://", {{"RANK", "1"}, {"WORLD_SIZE", "2"}}, 1, 2, 0, 1, "torch", "store", "."},
      {"mpirun", kMpirun, 1, 4, 1, 4, "mpirun", own.c_str(), "prte-host@1"},
      {"srun", kSrun, 2, 4, 0, 1, "srun", "node003:2", "99.0"},
      {"srun of fewer tasks than the job", kSrun + Variables{{"SLURM_STEP_NUM_TASKS", "3"}}, 2, 3, 0, 1, "srun",
       "node003:2", "99.0"},
      {"srun that serves PMIx", kSrun + kPmix, 2, 4, 0, 1, "srun", "pmix", "99.0"},
      {"srun --mpi=pmi2", kSrun + kPmi2, 2, 4, 0, 1, "srun", "node003:2", "99.0"},
      {"srun --mpi=pmi2 of fewer tasks than the job",
       kSrun + Variables{{"SLURM_STEP_NUM_TASKS", "3"}, {"PMI_RANK", "2"}, {"PMI_SIZE", "3"}}, 2, 3, 0, 1, "srun",
       "node003:2", "99.0"},
      {"torchrun below srun --mpi=pmi2", kTorchrun + kSrun + kPmi2, 3, 8, 1, 2, "torchrun", "store", "abc.1"},
      {"mpiexec below srun", kSrun + Variables{{"PMI_RANK", "5"}, {"PMI_SIZE", "8"}, {"CASYNC_RENDEZVOUS", "h:1"}}, 5,
       8, 0, 1, "mpiexec", "h:1", ""},
      {"a batch script is no task", {{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "4"}}, 0, 1, 0, 1, "alone", "", ""},
      {"torchrun below srun", kTorchrun + kSrun, 3, 8, 1, 2, "torchrun", "store", "abc.1"},
      {"mpirun below srun", kMpirun + kSrun, 1, 4, 1, 4, "mpirun", own.c_str(), "prte-host@1"},
      {"mpiexec",
       {{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}, {"CASYNC_RENDEZVOUS", "h:1"}},
       1,
       2,
       0,
       1,
       "mpiexec",
       "h:1",
       ""},
      {"a rendezvous instead of the launcher's", kTorchrun + Variables{{"CASYNC_RENDEZVOUS", "[::1]:77"}}, 3, 8, 1, 2,
       "torchrun", "[::1]:77", "abc.1"},
      {"empty is unset", {{"RANK", ""}, {"WORLD_SIZE", ""}}, 0, 1, 0, 1, "alone", "", ""},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    auto result = launch(row.variables);
    REQUIRE(result.status().text() == "OK");
    CHECK(result->rank == row.rank);
    CHECK(result->ranks == row.ranks);
    CHECK(result->local_rank == row.local_rank);
    CHECK(result->local_ranks == row.local_ranks);
    CHECK(result->source == row.source);
    CHECK_THAT(result->rendezvous, Catch::Matchers::StartsWith(row.rendezvous));
    CHECK(result->rendezvous.empty() == (std::string(row.rendezvous).empty()));
    CHECK(result->job == row.job);
  }
}

TEST_CASE("launch: contradictions are refused with the variable and the value") {
  const std::vector<std::tuple<const char*, Variables, std::vector<std::string>>> rows = {
      {"disagree on rank",
       kTorchrun + Variables{{"CASYNC_RANK", "2"}, {"CASYNC_SIZE", "8"}},
       {"CASYNC_RANK=2", "RANK=3"}},
      {"disagree on size",
       kMpirun + Variables{{"RANK", "1"}, {"WORLD_SIZE", "2"}},
       {"WORLD_SIZE=2", "OMPI_COMM_WORLD_SIZE=4"}},
      {"no number", {{"RANK", "one"}, {"WORLD_SIZE", "2"}}, {"RANK=one is no number"}},
      {"negative", {{"RANK", "-1"}, {"WORLD_SIZE", "2"}}, {"RANK=-1 is no number"}},
      {"half", {{"CASYNC_RANK", "1"}}, {"CASYNC_RANK=1 is set and CASYNC_SIZE is not"}},
      {"other half", {{"WORLD_SIZE", "2"}}, {"WORLD_SIZE=2 is set and RANK is not"}},
      {"outside", {{"RANK", "2"}, {"WORLD_SIZE", "2"}}, {"RANK=2 is outside WORLD_SIZE=2"}},
      {"too many", {{"RANK", "2"}, {"WORLD_SIZE", "65537"}}, {"WORLD_SIZE=65537", "at most 65536 ranks"}},
      {"a port that nobody knows", kTorchrun + Variables{{"CASYNC_RENDEZVOUS", "node0:0"}}, {"\"node0:0\"", "port 0"}},
      {"nothing to meet at", {{"CASYNC_RANK", "0"}, {"CASYNC_SIZE", "2"}}, {"2 ranks", "set CASYNC_RENDEZVOUS"}},
      {"torchrun below mpiexec", kTorchrun + kPmi2, {"RANK=3 (torchrun)", "PMI_RANK=2 (mpiexec)"}},
      {"mpiexec", {{"PMI_RANK", "0"}, {"PMI_SIZE", "2"}}, {"mpiexec does not say", "CASYNC_RENDEZVOUS"}},
      {"rendezvous",
       kTorchrun + Variables{{"CASYNC_RENDEZVOUS", "somewhere"}},
       {"\"somewhere\"", "host:port", "pmix", "store"}},
      {"short token", {{"CASYNC_TOKEN", "abc"}}, {"CASYNC_TOKEN has 3 characters"}},
  };
  for (const auto& [name, variables, words] : rows) {
    INFO(name);
    auto result = launch(variables);
    REQUIRE(!result.is_ok());
    CHECK(result.status().code() == StatusCode::kInvalidArgument);
    for (const std::string& word : words) CHECK_THAT(result.status().message(), Contains(word));
  }
  CHECK(launch({{"RANK", "65535"}, {"WORLD_SIZE", "65536"}})->ranks == 65536);
  Variables two_machines = kMpirun;
  two_machines["OMPI_COMM_WORLD_LOCAL_SIZE"] = "2";
  CHECK_THAT(launch(two_machines).status().message(), Contains("mpirun does not say") && Contains("CASYNC_RENDEZVOUS"));
}

TEST_CASE("launch: arguments come first, and must agree unless they say everything") {
  LaunchArguments arguments;
  arguments.rank = 3;
  auto result = launch(kTorchrun, arguments);
  REQUIRE(result.status().text() == "OK");
  CHECK(result->source == "arguments");
  CHECK(result->ranks == 8);
  CHECK(result->local_rank == 1);
  arguments.rank = 0;
  CHECK_THAT(launch(kTorchrun, arguments).status().message(), Contains("rank=0") && Contains("RANK=3"));
  CHECK_THAT(launch({}, arguments).status().message(), Contains("rank=0 is given without a size"));
  arguments.ranks = 2;
  CHECK(!launch(kTorchrun, arguments).is_ok());
  arguments.rendezvous = "host:1";
  arguments.token = "given in the program";
  result = launch(kTorchrun, arguments);
  REQUIRE(result.status().text() == "OK");
  CHECK(result->ranks == 2);
  CHECK(result->rendezvous == "host:1");
  CHECK(result->token == "given in the program");
}

TEST_CASE("launch: the port that is guessed under srun may be taken, so there are several; one that is said is alone") {
  CHECK(launch(kSrun)->ports == 8);
  CHECK(launch(kSrun + Variables{{"CASYNC_RENDEZVOUS", "node003:2222"}})->ports == 1);
  CHECK(launch(kCasync)->ports == 1);
}

TEST_CASE("launch: a node's name comes from the program, else from the environment, else there is none") {
  CHECK(launch(kTorchrun)->node.empty());
  const Variables named = kTorchrun + Variables{{"CASYNC_NODE", "rack 2"}};
  CHECK(launch(named)->node == "rack 2");
  LaunchArguments arguments;
  arguments.node = "rack 3";
  CHECK(launch(named, arguments)->node == "rack 3");
  arguments.node = "";
  CHECK(launch(named, arguments)->node.empty());
}

TEST_CASE("launch: a token in the program must be as long as one in the environment, and \"\" is none") {
  for (const std::string token : {"", "1234567"}) {
    LaunchArguments arguments;
    arguments.token = token;
    const Status status = launch(kCasync, arguments).status();
    CHECK(status.code() == StatusCode::kInvalidArgument);
    CHECK_THAT(status.message(), Contains("the argument \"token\" has " + std::to_string(token.size())) &&
                                     Contains("at least 8 are needed"));
  }
}

TEST_CASE("launch: a token file must be the user's own and private") {
  runtime::testing::TemporaryDirectory directory;
  const std::string path = directory.path() + "/token";
  const auto write = [&](const std::string& text, mode_t mode) {
    std::ofstream(path) << text;
    chmod(path.c_str(), mode);
  };
  write("0123456789abcdef\n", 0600);
  auto result = launch({{"CASYNC_TOKEN_FILE", path}});
  REQUIRE(result.status().text() == "OK");
  CHECK(result->token == "0123456789abcdef");
  CHECK(launch({{"CASYNC_TOKEN_FILE", path}, {"CASYNC_TOKEN", "0123456789abcdef"}}).is_ok());
  const std::string link = directory.path() + "/link";
  std::filesystem::create_symlink(path, link);
  CHECK(launch({{"CASYNC_TOKEN_FILE", link}, {"CASYNC_TOKEN", "0123456789abcdef"}}).is_ok());
  CHECK_THAT(launch({{"CASYNC_TOKEN_FILE", path}, {"CASYNC_TOKEN", "0123456789"}}).status().message(),
             Contains("different tokens") && !Contains("0123"));
  write("0123456789abcdef\n", 0640);
  CHECK_THAT(launch({{"CASYNC_TOKEN_FILE", path}}).status().message(), Contains("mode 640") && Contains("chmod 600"));
  CHECK_THAT(launch({{"CASYNC_TOKEN_FILE", link}}).status().message(), Contains("chmod 600 ") && Contains("/token"));
  write("\n", 0600);
  CHECK_THAT(launch({{"CASYNC_TOKEN_FILE", path}}).status().message(), Contains("0 characters"));
  write(std::string(5000, 'x'), 0600);
  CHECK_THAT(launch({{"CASYNC_TOKEN_FILE", path}}).status().message(), Contains("5000 bytes"));
  CHECK(launch({{"CASYNC_TOKEN_FILE", directory.path() + "/none"}}).status().code() == StatusCode::kUnavailable);
}

TEST_CASE("launch: the first host of a node list") {
  const std::vector<std::pair<const char*, const char*>> rows = {{"node1", "node1"},
                                                                 {"node[003-007,9],x", "node003"},
                                                                 {"a-b.c,d", "a-b.c"},
                                                                 {"rack[1-2]n[05,07]", "rack1n05"},
                                                                 {"n[4]", "n4"},
                                                                 {"n[1", ""},
                                                                 {"", ""},
                                                                 {"evil;rm -rf", ""},
                                                                 {"tux[2,4-6]-ib", "tux2-ib"}};
  for (const auto& [list, host] : rows) CHECK(first_host(list) == host);
}
