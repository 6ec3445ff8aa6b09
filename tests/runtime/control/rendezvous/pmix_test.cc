// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include "runtime/control/rendezvous/pmix_store.h"
#include "tests/environment/scoped_variable.h"
#include "tests/runtime/control/control_support.h"

using namespace casync;
using namespace casync::runtime;
using namespace casync::runtime::testing;
using Catch::Matchers::Contains;

TEST_CASE(
    "pmix: a key that one store sets is found by the next get, any bytes, and stores do not see each other's keys") {
  const ScopedVariable rank("PMIX_DOUBLE_RANK", "0");
  auto first = open_pmix_store(0, 2, after(Seconds(10)), PMIX_DOUBLE);
  REQUIRE(first.status().text() == "OK");
  const std::string value("address\n\0\xff", 10);
  CHECK((*first)->set("casync.rank0", value).text() == "OK");
  auto read = (*first)->get("casync.rank0", after(Seconds(10)));
  REQUIRE(read.status().text() == "OK");
  CHECK(*read == value);
  auto second = open_pmix_store(0, 2, after(Seconds(10)), PMIX_DOUBLE);
  REQUIRE(second.status().text() == "OK");
  const Status absent = (*second)->get("casync.rank0", after(Seconds(0.05))).status();
  CHECK(absent.code() == StatusCode::kTimeout);
}

TEST_CASE("pmix: an entry that does not come is an error with the words of the server") {
  const ScopedVariable rank("PMIX_DOUBLE_RANK", "0");
  auto store = open_pmix_store(0, 2, after(Seconds(10)), PMIX_DOUBLE);
  REQUIRE(store.status().text() == "OK");
  CHECK((*store)->get("casync.rank0", after(Seconds(1))).status().text() ==
        "Timeout: rank 0 has not left \"casync.rank0\" with PMIx: ERROR");
}

TEST_CASE("pmix: no library, no server and another number are refused with what to do") {
  CHECK_THAT(open_pmix_store(0, 2, after(Seconds(10)), "libpmix-absent.so.2").status().message(),
             Contains("cannot be loaded") && Contains("libpmix2"));
  const ScopedVariable none("PMIX_DOUBLE_RANK", nullptr);
  CHECK_THAT(open_pmix_store(0, 2, after(Seconds(10)), PMIX_DOUBLE).status().message(),
             Contains("UNREACHABLE") && Contains("mpirun"));
  const ScopedVariable other("PMIX_DOUBLE_RANK", "1");
  CHECK_THAT(open_pmix_store(0, 2, after(Seconds(10)), PMIX_DOUBLE).status().text(),
             Contains("InvalidArgument: rank 0 of 2 is rank 1 for PMIx"));
}

TEST_CASE("pmix: a server that takes the call and never answers is an error at the deadline") {
  const ScopedVariable rank("PMIX_DOUBLE_RANK", "0"), call("PMIX_DOUBLE_SILENT", "init");
  const Status silent = open_pmix_store(0, 2, after(Seconds(0.1)), PMIX_DOUBLE).status();
  CHECK(silent.code() == StatusCode::kTimeout);
  CHECK_THAT(silent.message(), Contains("PMIx server does not answer") && Contains("CASYNC_RENDEZVOUS"));
}

TEST_CASE("pmix: an entry that the server does not take is an error at the deadline") {
  const ScopedVariable rank("PMIX_DOUBLE_RANK", "0");
  auto store = open_pmix_store(0, 2, after(Seconds(1)), PMIX_DOUBLE);
  REQUIRE(store.status().text() == "OK");
  const ScopedVariable call("PMIX_DOUBLE_SILENT", "commit");
  CHECK((*store)->set("casync.rank0", "x").code() == StatusCode::kTimeout);
}

TEST_CASE("pmix: a question whose answer is lost is asked again") {
  const ScopedVariable rank("PMIX_DOUBLE_RANK", "0");
  auto store = open_pmix_store(0, 2, after(Seconds(60)), PMIX_DOUBLE);
  REQUIRE(store.status().text() == "OK");
  REQUIRE((*store)->set("casync.rank0", "there").text() == "OK");
  const ScopedVariable call("PMIX_DOUBLE_SILENT", "first get");
  const Result<std::string> found = (*store)->get("casync.rank0", after(Seconds(60)));
  REQUIRE(found.status().text() == "OK");
  CHECK(*found == "there");
}
