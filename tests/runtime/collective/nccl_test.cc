// SPDX-License-Identifier: Apache-2.0
//
// NCCL by the contract of RoundTransport, with a library of the tests in its place.
#include "runtime/collective/nccl/nccl_transport.h"

#include <catch2/catch.hpp>
#include <thread>
#include <utility>

#include "runtime/device/cuda/cuda_stream.h"
#include "tests/compll/cuda/emulated/driver.h"
#include "tests/conformance/round_conformance.h"
#include "tests/runtime/session/gpu.h"
#include "tests/support/nccl/fake_nccl.h"

namespace casync::test {

using runtime::NcclApi;
using runtime::NcclOptions;
using runtime::Reduction;
using runtime::RoundPiece;

namespace {

const NcclApi& api() {
  static const NcclApi* const found = [] {
    fake_nccl::use(gpu_driver());
    return runtime::find_nccl().value();
  }();
  return *found;
}

std::unique_ptr<runtime::Device> open_device() { return std::move(open_gpu("cuda:0")).value(); }

/// A job whose ranks wait so long for each other.
RoundNetwork network(double seconds = 20) {
  return {open_device, [seconds](int) -> OpenRound {
            const std::string id = runtime::make_nccl_id(api()).value();
            return [id, seconds](Rank rank, int ranks, runtime::Stream& stream) {
              NcclOptions options;
              options.rank = rank;
              options.ranks = ranks;
              options.id = id;
              options.stream = &stream;
              return runtime::open_nccl(api(), options, after(Seconds(seconds)));
            };
          }};
}

/// Opens a communicator of two ranks, of which one comes.
Status open_alone(NcclOptions options, double seconds) {
  const auto device = open_device();
  const auto stream = std::move(device->make_stream(false)).value();
  options.ranks = 2;
  options.stream = stream.get();
  return runtime::open_nccl(api(), options, after(Seconds(seconds))).status();
}

}  // namespace

TEST_CASE("nccl: conforms") {
  static_cast<void>(api());
  check_round_transport(network());
}

TEST_CASE("nccl: the library in its place takes no call that the true one would refuse") {
  const NcclApi& nccl = api();
  const auto device = open_device();
  const auto stream = std::move(device->make_stream(false)).value();
  const auto& on = static_cast<const runtime::CudaStream&>(*stream);
  const auto memory = std::move(device->allocate(16, runtime::Memory::kDevice)).value();
  void* const at = reinterpret_cast<void*>(memory->device().address());
  NcclApi::Handle communicator = nullptr;
  const auto reduce = [&](int type, int operation) {
    return nccl.all_reduce(at, at, 4, type, operation, communicator, on.handle());
  };
  const auto end_of_call = [&] {
    NcclApi::Code code = NcclApi::kInProgress;
    while (nccl.async_error(communicator, &code) == 0 && code == NcclApi::kInProgress) std::this_thread::yield();
    return code;
  };
  const Status called = on.calls()("cuCtxPushCurrent", [&](const runtime::CudaCalls::Api&) {
    NcclApi::UniqueId id;
    NcclApi::Config config;
    config.blocking = 0;
    CHECK(nccl.unique_id(&id) == 0);
    fake_nccl::hold_inits(true);
    CHECK(nccl.init_rank(&communicator, 1, id, 0, &config) == NcclApi::kInProgress);
    CHECK(nccl.destroy(communicator) == NcclApi::kInvalidArgument);
    fake_nccl::hold_inits(false);
    CHECK(end_of_call() == 0);
    CHECK(reduce(NcclApi::kFloat32, 1) == NcclApi::kInvalidArgument);  // ncclProd
    CHECK(reduce(0, NcclApi::kSum) == NcclApi::kInvalidArgument);      // ncclInt8
    for (const int type : {NcclApi::kUint8, NcclApi::kFloat32}) {
      for (const int operation : {NcclApi::kSum, NcclApi::kMost}) {
        CHECK(reduce(type, operation) == NcclApi::kInProgress);
        CHECK(end_of_call() == 0);
      }
    }
    CHECK(nccl.finalize(communicator) == NcclApi::kInProgress);
    CHECK(end_of_call() == 0);
    CHECK(reduce(NcclApi::kFloat32, NcclApi::kSum) == NcclApi::kInvalidArgument);
    CHECK(nccl.finalize(communicator) == NcclApi::kInvalidArgument);
    CHECK(nccl.destroy(communicator) == 0);
    return runtime::CudaCalls::Api::Code{0};
  });
  CHECK(called.text() == "OK");
  fake_nccl::reset();
}

TEST_CASE("nccl: the copy that the process has loaded is opened, by its name alone") {
  fake_nccl::reset();
  const Result<NcclApi> opened = runtime::load_nccl("libnccl.so.2");
  REQUIRE(opened.status().text() == "OK");
  CHECK(opened->found == 23007);
  CHECK(runtime::load_nccl("libnccl-of-nobody.so.2").status().code() == StatusCode::kUnavailable);
  CHECK_THAT(runtime::load_nccl("libm.so.6").status().text(),
             Catch::Contains("libm.so.6 is no NCCL: it lacks ncclGetVersion, ncclGetErrorString, "));
}

TEST_CASE("nccl: a library that is not found is looked for again, as once a framework has loaded it, and then kept") {
  static_cast<void>(api());
  runtime::NcclSearch search;
  fake_nccl::set_version(22705);
  CHECK(search.find("libnccl.so.2").status().code() == StatusCode::kUnavailable);
  fake_nccl::reset();
  const Result<const NcclApi*> found = search.find("libnccl.so.2");
  REQUIRE(found.status().text() == "OK");
  const Result<const NcclApi*> again = search.find("libnccl-of-nobody.so.2");
  REQUIRE(again.status().text() == "OK");
  CHECK(*again == *found);
}

TEST_CASE("nccl: versions 2.28 to 2.32 are taken, others are refused with the version found") {
  for (const auto& [version, text] : {std::pair{22705, "2.27.5"}, {21903, "2.19.3"}, {23300, "2.33.0"}}) {
    fake_nccl::set_version(version);
    CHECK_THAT(runtime::load_nccl("libnccl.so.2").status().text(),
               Catch::Contains("libnccl.so.2 is NCCL " + std::string(text) + ", expected 2.28 to 2.32"));
  }
  for (const int version : {22800, 22907, 23203}) {
    fake_nccl::set_version(version);
    CHECK(runtime::load_nccl("libnccl.so.2").status().text() == "OK");
  }
  fake_nccl::reset();
}

TEST_CASE("nccl: a communicator that is never ready ends at the deadline, with the rank and the number of ranks") {
  const std::string id = runtime::make_nccl_id(api()).value();
  const Status status = open_alone({1, 2, id}, 0.2);
  CHECK(status.code() == StatusCode::kTimeout);
  CHECK_THAT(status.message(), Catch::Contains("rank 1: NCCL 2.30.7: a communicator of 2 ranks was not ready in time"));
  fake_nccl::hold_inits(true);
  const std::string complaints = run_rounds(network(0.2), 2, [](RoundRank&) { return std::string("it opened"); });
  fake_nccl::reset();
  CHECK_THAT(complaints, Catch::Contains("rank 0: open: Timeout") && Catch::Contains("rank 1: open: Timeout"));
}

TEST_CASE("nccl: waiting for ranks ends with the job, and an id of other bytes is refused") {
  NcclOptions options{0, 2, runtime::make_nccl_id(api()).value()};
  options.interrupted = [] { return peer_failure("rank 1 is gone"); };
  CHECK(open_alone(options, 20).text() == "PeerFailure: rank 1 is gone");
  CHECK(open_alone({0, 2, "short"}, 20).text() == "InvalidArgument: an id of NCCL has 128 bytes, and this one has 5");
}

TEST_CASE("nccl: failures that NCCL notices by itself are told by poll, with the rank and its words") {
  const std::string complaints = run_rounds(network(), 2, [](RoundRank& on) -> std::string {
    const auto at = on.floats({1, 2});
    const RoundPiece piece{1 - on.rank, at->device()};
    if (on.rank == 1) return "";  // it has died
    if (Status status = on.transport->exchange({}, {&piece, 1}); !status) return status.text();
    if (Status status = on.queued(); !status) return status.text();
    fake_nccl::fail(0, NcclApi::kRemoteError);
    const Status noticed = on.transport->poll().status();
    on.transport->abort();
    if (!on.transport->wait_for_abort(after(Seconds(20)))) return "the abort does not end";
    return on.over().is_ok() ? noticed.text() : "it is not at rest";
  });
  CHECK_THAT(complaints, Catch::Contains("rank 0: PeerFailure: rank 0: NCCL 2.30.7: ncclCommGetAsyncError: remote "
                                         "process exited or there was a network error"));
}

/// Lets NCCL refuse this call of rank 0; returns its status.
std::string told_by(const std::string& function, int code) {
  std::string told;
  const auto body = [&](RoundRank& on) -> std::string {
    if (on.rank == 1) return "";
    const auto at = on.floats({1, 2}), other = on.floats({3, 4});
    const RoundPiece send{1, at->device()}, recv{1, other->device()};
    fake_nccl::refuse(function, code);
    if (function.starts_with("ncclComm")) {
      told = on.transport->close(after(Seconds(5))).text();
    } else if (function == "ncclAllReduce") {
      told = on.transport->all_reduce(at->device(), Reduction::kSumOfFloats).text();
    } else {
      told = on.transport->exchange({&send, 1}, {&recv, 1}).text();
    }
    return "";
  };
  const std::string complaints = run_rounds(network(), 2, body);
  fake_nccl::reset();
  return complaints + told;
}

TEST_CASE("nccl: each call that is refused names itself, the peer, the rank and NCCL's words") {
  const std::string here = "rank 0: NCCL 2.30.7: ", why = " (refused for a test)";
  CHECK(told_by("ncclGroupStart", NcclApi::kInternalError) ==
        "Internal: " + here + "ncclGroupStart: internal error" + why);
  CHECK(told_by("ncclSend", NcclApi::kInvalidUsage) == "Internal: " + here + "ncclSend to rank 1: invalid usage" + why);
  CHECK(told_by("ncclRecv", NcclApi::kInvalidArgument) ==
        "Internal: " + here + "ncclRecv from rank 1: invalid argument" + why);
  CHECK(told_by("ncclAllReduce", NcclApi::kUnhandledCudaError) ==
        "Unavailable: " + here + "ncclAllReduce: unhandled cuda error" + why);
  CHECK(told_by("ncclGroupEnd", NcclApi::kSystemError) ==
        "Unavailable: " + here + "ncclGroupEnd: unhandled system error" + why);
  CHECK(told_by("ncclCommFinalize", NcclApi::kInternalError) ==
        "Internal: " + here + "ncclCommFinalize: internal error" + why);
  CHECK(told_by("ncclCommDestroy", NcclApi::kInternalError) ==
        "Internal: " + here + "ncclCommDestroy: internal error" + why);
  fake_nccl::refuse("ncclCommInitRankConfig", NcclApi::kSystemError);
  CHECK(open_alone({0, 2, runtime::make_nccl_id(api()).value()}, 5).text() ==
        "Unavailable: " + here + "ncclCommInitRankConfig: unhandled system error" + why);
  fake_nccl::refuse("ncclGetUniqueId", NcclApi::kSystemError);
  CHECK_THAT(runtime::make_nccl_id(api()).status().text(),
             Catch::Contains("Unavailable: NCCL 2.30.7: ncclGetUniqueId: unhandled system error"));
}

TEST_CASE("nccl: a failure of the device is told, and a group that failed is over") {
  const std::string complaints = run_rounds(network(), 1, [](RoundRank& on) -> std::string {
    const auto at = on.floats({1, 2});
    fake_nccl::refuse("ncclAllReduce", NcclApi::kInternalError);
    if (on.transport->all_reduce(at->device(), Reduction::kSumOfFloats)) return "it was not refused";
    if (Status status = on.transport->all_reduce(at->device(), Reduction::kSumOfFloats); !status) return status.text();
    if (Status status = on.queued(); !status) return status.text();
    if (Status status = on.over(); !status) return status.text();
    compll::emulated::break_device();
    Status status = on.transport->all_reduce(at->device(), Reduction::kSumOfFloats);
    if (status) status = on.queued();
    compll::emulated::mend_device();
    return status.text();
  });
  CHECK_THAT(complaints,
             Catch::Contains("Unavailable: rank 0: NCCL 2.30.7: ncclCommGetAsyncError: unhandled cuda error"));
}

TEST_CASE("nccl: abort comes from any thread while ranks wait for each other") {
  const std::string complaints = run_rounds(network(), 2, [](RoundRank& on) -> std::string {
    if (on.rank == 1) return "";
    const auto at = on.floats({1, 2});
    if (Status status = on.transport->all_reduce(at->device(), Reduction::kSumOfFloats); !status) return status.text();
    if (Status status = on.queued(); !status) return status.text();
    while (fake_nccl::waiting() == 0) std::this_thread::yield();
    std::thread watcher([&] { on.transport->abort(); });
    const Status status = on.over();
    watcher.join();
    return status ? "" : status.text();
  });
  CHECK(complaints == "");
}

}  // namespace casync::test
