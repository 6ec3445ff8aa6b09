// SPDX-License-Identifier: Apache-2.0
//
// The kernels that code sections and read them, on a GPU which this host emulates: the host's bytes and its verdict.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "compll/codec/coded/coded_codec.h"
#include "compll/cuda/payload_coder.h"
#include "tests/compll/cuda/emulated/program.h"
#include "tests/compll/support/inputs.h"
#include "tests/compll/support/run_codec.h"

namespace casync::compll {
namespace {

using emulated::CodecOnDevice;
using emulated::ProgramOnDevice;

constexpr const char* kCoded[] = {"lossless", "threshold_coded", "topk_coded",     "qsgd_elias", "atomo",
                                  "laq",      "exchange_elias",  "coded_sections", "selected",   "published_graddrop"};

/// Vectors whose sections are as short and as long as they may be, and what lies between.
std::vector<std::pair<std::string, std::vector<float>>> vectors(Elements n) {
  const auto of = [&](const std::function<float(Elements)>& element) {
    std::vector<float> values(n);
    for (Elements i = 0; i < n; ++i) values[i] = element(i);
    return values;
  };
  std::mt19937 numbers(static_cast<std::uint32_t>(n));
  return {{"zeros", of([](Elements) { return 0.0f; })},
          {"all alike", of([](Elements) { return -3.5f; })},
          {"the last alone", of([&](Elements i) { return i + 1 == n ? 7.0f : 0.0f; })},
          {"noise", of([&](Elements) {
             const auto bits = static_cast<std::uint32_t>(numbers()) & 0xbfffffff;  // no NaN, no infinity
             float value;
             std::memcpy(&value, &bits, sizeof value);
             return value;
           })},
          {"large", of([](Elements i) { return i % 2 == 0 ? 3e38f : -3e38f; })},
          {"rounded", of([&](Elements) { return static_cast<float>(static_cast<int>(numbers() % 33) - 16); })},
          {"Gaussian", gaussian(n, 5)}};
}

/// Payloads that kernels read: whether all are payloads, what they are without coding, and if memory was kept.
struct Reading {
  bool good = false, outside = false;
  std::vector<std::vector<std::byte>> plain;
};

/// The kernels of one codec that code.
class CodingOnDevice {
 public:
  explicit CodingOnDevice(CodecOnDevice& on)
      : device_(*on.device), coding_(*coding_of(*on.meaning)), coder_(coding_), memory_(device_) {
    REQUIRE(coder_.find(device_, on.modules(), name_of(*on.text)).is_ok());
  }

  /// Reads payloads of n elements at once, whose heads are good.
  Reading read(std::span<const std::vector<std::byte>> payloads, Elements n) {
    constexpr cuda::CodedOutcome kNothing;
    struct Placed {
      StagedMemory::Piece outcome;
      std::vector<unsigned char*> plain;
      Launches launches;
    };
    const Placed placed = memory_.send([&] {
      coder_.begin();
      Placed all{memory_.room(&kNothing, sizeof kNothing), {}, {}};
      for (const std::vector<std::byte>& each : payloads) {
        const auto* const given = reinterpret_cast<unsigned char*>(memory_.give(each.data(), each.size()));
        all.plain.push_back(coder_.add_read(given, each.size(), n, all.outcome.as<cuda::CodedOutcome>(), memory_));
      }
      coder_.launch_reads(memory_, all.launches);
      return all;
    });
    device_.launch(placed.launches);
    memory_.fetch();
    Reading reading;
    cuda::CodedOutcome told;
    memory_.read(placed.outcome, &told);
    reading.good = told.fault == 0;
    reading.outside = memory_.wrote_outside();
    for (const unsigned char* plain : placed.plain) {
      reading.plain.emplace_back(coding_.plain().encoded_bound(n));
      device_.download(reading.plain.back().data(), reinterpret_cast<const std::byte*>(plain),
                       reading.plain.back().size());
    }
    REQUIRE(device_.status().text() == "OK");
    return reading;
  }

 private:
  CudaDevice& device_;
  const PayloadCoding& coding_;
  PayloadCoder coder_;
  StagedMemory memory_;
};

std::vector<std::byte> coded(const Codec& codec, const std::vector<float>& x) {
  std::vector<std::byte> payload(codec.encoded_bound(x.size()));
  payload.resize(codec.encode(x.data(), x.size(), {}, {}, payload.data()).size);
  return payload;
}

/// Damages what is behind the header, in one of the ways in which memory, a link or a foe may.
std::vector<std::byte> damaged(std::vector<std::byte> payload, Bytes bound, std::mt19937& numbers) {
  const auto any = [&](std::size_t below) { return below == 0 ? 0 : numbers() % below; };
  const auto place = [&] { return 16 + any(payload.size() - 16); };
  switch (any(4)) {
    case 0:
      for (std::size_t i = 0; i <= any(3); ++i) payload[place()] ^= std::byte{1} << any(8);
      break;
    case 1: payload[std::min<std::size_t>(payload.size() - 1, 16 + any(40))] = static_cast<std::byte>(numbers()); break;
    case 2: payload.resize(place()); break;
    default:
      for (std::size_t i = any(9); i > 0 && payload.size() < bound; --i) payload.push_back(std::byte(numbers() % 2));
      payload[place()] = static_cast<std::byte>(numbers());
  }
  return payload;
}

}  // namespace

TEST_CASE("coding on a GPU: a program with coded sections has kernels that code them, others have nothing of those") {
  const ProgramOnDevice coded("threshold_coded"), plain("threshold");
  const std::vector<std::string> kernels = kernels_of(*coded.text);
  for (const std::string function : {"code", "join", "find", "read"}) {
    CHECK(std::count(kernels.begin(), kernels.end(), "casync_threshold_coded_" + function) == 1);
  }
  CHECK_THAT(text_of(*coded.text), Catch::Contains("kCodings = 1u << 2 | 1u << 3;"));  // floats packed, and rising
  CHECK_THAT(text_of(*plain.text), !Catch::Contains("kCodings"));
}

TEST_CASE("coding on a GPU: the bytes are the host's around the edges of blocks, whatever they hold") {
  for (const char* name : kCoded) {
    const CodecOnDevice both(name);
    for (const Elements n : {0, 1, 2, 511, 4095, 4096, 4097, 8193}) {
      for (const auto& [what, x] : vectors(n)) {
        INFO(name << ", " << n << " elements, " << what);
        const std::vector<std::byte> wanted = coded(*both.meaning, x);
        CHECK(coded(*both.codec, x) == wanted);
        std::vector<float> is(n), should(n);
        both.codec->decode({wanted.data(), wanted.size()}, n, is.data());
        both.meaning->decode({wanted.data(), wanted.size()}, n, should.data());
        CHECK(same_bytes(is, should));
      }
    }
    CHECK_FALSE(both.codec->wrote_outside());
    CHECK(both.device->status().text() == "OK");
  }
}

TEST_CASE("coding on a GPU: a damaged payload gets the host's verdict, and nothing outside is touched") {
  std::mt19937 numbers(11);
  for (const char* name : kCoded) {
    CodecOnDevice both(name);
    CodingOnDevice kernels(both);
    const Codec& codec = *both.meaning;
    std::size_t refused = 0, read = 0;
    for (const Elements n : {1, 300, 4097, 9000}) {
      for (const auto& [what, x] : vectors(n)) {
        const std::vector<std::byte> payload = coded(codec, x);
        for (int i = 0; i < 12 && payload.size() > 16; ++i) {
          const std::vector<std::byte> bad = damaged(payload, codec.encoded_bound(n), numbers);
          if (!coding_of(codec)->check_head({bad.data(), bad.size()}, n)) continue;
          const bool good = codec.check({bad.data(), bad.size()}, n).is_ok();
          INFO(name << ", " << n << " elements, " << what << ", damage " << i);
          const Reading reading = kernels.read({&bad, 1}, n);
          CHECK(reading.good == good);
          CHECK_FALSE(reading.outside);
          (good ? read : refused) += 1;
          if (!good) continue;
          std::vector<float> is(n), should(n);
          codec.decode({bad.data(), bad.size()}, n, should.data());
          coding_of(codec)->plain().decode({reading.plain[0].data(), reading.plain[0].size()}, n, is.data());
          CHECK(same_bytes(is, should));
        }
      }
    }
    INFO(name);
    CHECK(refused > 50);
    CHECK(read > 0);  // bits of values are as good as others
  }
}

TEST_CASE("coding on a GPU: each of many payloads in one launch is read as if it were alone") {
  constexpr Elements kN = 5000;
  for (const char* name : {"topk_coded", "lossless"}) {
    CodecOnDevice both(name);
    CodingOnDevice kernels(both);
    std::vector<std::vector<std::byte>> payloads;
    for (std::uint32_t i = 0; i < 20; ++i) payloads.push_back(coded(*both.meaning, gaussian(kN, i)));
    const Reading all = kernels.read(payloads, kN);
    CHECK(all.good);
    CHECK_FALSE(all.outside);
    for (std::size_t i = 0; i < payloads.size(); ++i) {
      const Reading alone = kernels.read({&payloads[i], 1}, kN);
      std::vector<float> is(kN), should(kN);
      const Codec& plain = coding_of(*both.meaning)->plain();
      plain.decode({all.plain[i].data(), all.plain[i].size()}, kN, is.data());
      plain.decode({alone.plain[0].data(), alone.plain[0].size()}, kN, should.data());
      CHECK(same_bytes(is, should));
    }
    payloads[13].back() = ~payloads[13].back();
    payloads[13].push_back(std::byte{0});
    CHECK_FALSE(kernels.read(payloads, kN).good);
  }
}

}  // namespace casync::compll
