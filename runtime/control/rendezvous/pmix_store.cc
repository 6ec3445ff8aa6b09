// SPDX-License-Identifier: Apache-2.0
#include "runtime/control/rendezvous/pmix_store.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

#include "base/thread.h"
#include "runtime/control/wire/crypto.h"

namespace casync::runtime {
namespace {

// The part of PMIx's binary interface that is used here; it is the same in versions 2 to 5.
struct PmixProcess {
  char space[256];
  std::uint32_t rank;
};
struct PmixValue {
  std::uint16_t type;
  union {
    char* text;
    std::array<char, 64> room;  // at least as large as the library's own union
  };
};
constexpr int kSuccess = 0;
constexpr std::uint16_t kString = 3;
constexpr std::uint8_t kGlobal = 3;
using GetCallback = void (*)(int status, PmixValue* value, void* context);

constexpr auto kFirstAskPause = std::chrono::milliseconds(5);
constexpr auto kMostAskPause = std::chrono::milliseconds(100);
/// Time for one question. A server on another machine than rank 0's may drop one when the entry is set meanwhile.
constexpr Seconds kAskTime{1};
constexpr Seconds kFinalizeTime{5};

/// The functions of the library, which stays loaded.
struct Pmix {
  int (*init)(PmixProcess*, void* info, std::size_t count) = nullptr;
  int (*finalize)(const void* info, std::size_t count) = nullptr;
  int (*put)(std::uint8_t scope, const char* key, PmixValue*) = nullptr;
  int (*commit)() = nullptr;
  int (*get)(const PmixProcess*, const char* key, const void* info, std::size_t count, GetCallback, void*) = nullptr;
  const char* (*error_text)(int) = nullptr;
};

Result<Pmix> load(const std::string& library) {
  void* const handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* const why = dlerror();
    return unavailable(
        fmt::format("the launcher offers PMIx, and {} cannot be loaded ({}): install libpmix2, or set "
                    "CASYNC_RENDEZVOUS on all ranks",
                    library, why != nullptr ? why : "unknown"));
  }
  Pmix pmix;
  std::string missing;
  const auto find = [&](auto& function, const char* name) {
    void* const symbol = dlsym(handle, name);
    if (symbol == nullptr) missing = name;
    std::memcpy(&function, &symbol, sizeof symbol);
  };
  find(pmix.init, "PMIx_Init");
  find(pmix.finalize, "PMIx_Finalize");
  find(pmix.put, "PMIx_Put");
  find(pmix.commit, "PMIx_Commit");
  find(pmix.get, "PMIx_Get_nb");
  find(pmix.error_text, "PMIx_Error_string");
  if (!missing.empty()) return unavailable(fmt::format("{} has no function {}", library, missing));
  return pmix;
}

/// An answer that the library's thread may give after nobody waits for it any more.
struct Answer {
  std::mutex mutex;
  std::condition_variable given;
  std::optional<int> status;
  std::string text;
};

/// Runs on the library's thread. The value is the library's.
void take_answer(int status, PmixValue* value, void* context) {
  const std::unique_ptr<std::shared_ptr<Answer>> owner(static_cast<std::shared_ptr<Answer>*>(context));
  Answer& answer = **owner;
  const std::lock_guard lock(answer.mutex);
  if (status == kSuccess && value != nullptr && value->type == kString && value->text != nullptr) {
    answer.text = value->text;
  }
  answer.status = status;
  answer.given.notify_all();
}

/// Runs a call that may never return on a thread of its own, which keeps what `call` holds. Timeout: it has not
/// returned by the deadline. Unavailable: no thread left.
Result<int> call_until(Clock::time_point deadline, std::function<int()> call) {
  const auto answer = std::make_shared<Answer>();
  Result<std::thread> thread = start_thread("casync-pmix", [answer, call = std::move(call)] {
    const int status = call();
    const std::lock_guard lock(answer->mutex);
    answer->status = status;
    answer->given.notify_all();
  });
  if (!thread) return thread.status();
  thread->detach();
  std::unique_lock lock(answer->mutex);
  if (answer->given.wait_until(lock, deadline, [&] { return answer->status.has_value(); })) return *answer->status;
  return timeout_error("the launcher's PMIx server does not answer: set CASYNC_RENDEZVOUS on all ranks");
}

class PmixStore final : public Store {
 public:
  PmixStore(const Pmix& pmix, const PmixProcess& self, Clock::time_point deadline, unsigned number)
      : pmix_(pmix), self_(self), deadline_(deadline), number_(number) {}
  // Without it mpirun takes the end of the process for a crash.
  ~PmixStore() override {
    static_cast<void>(call_until(after(kFinalizeTime), [pmix = pmix_] { return pmix.finalize(nullptr, 0); }));
  }

  Status set(const std::string& key, const std::string& value) override {
    const auto error = call_until(deadline_, [pmix = pmix_, name = named(key), hex = to_hex(value)]() mutable {
      PmixValue text{};
      text.type = kString;
      text.text = hex.data();  // PMIx ends texts at a zero
      const int refused = pmix.put(kGlobal, name.c_str(), &text);
      return refused != kSuccess ? refused : pmix.commit();
    });
    if (!error) return error.status();
    return *error == kSuccess ? Status::ok() : failed("take", key, *error);
  }

  /// Asks rank 0, which is the only one that sets keys, until it has: a server may answer "not found" at once, or wait.
  Result<std::string> get(const std::string& key, Clock::time_point deadline) override {
    std::string why;  // the latest refusal
    for (auto pause = kFirstAskPause;; pause = std::min(2 * pause, kMostAskPause)) {
      const auto answer = ask(key);
      std::unique_lock lock(answer->mutex);
      const bool given = answer->given.wait_until(lock, std::min(deadline, after(kAskTime)),
                                                  [&] { return answer->status.has_value(); });
      if (given && *answer->status == kSuccess) return from_hex(key, answer->text);
      if (given) why = std::string(": ") + pmix_.error_text(*answer->status);
      const Clock::time_point now = Clock::now();
      if (now >= deadline) return timeout_error("rank 0 has not left \"" + key + "\" with PMIx" + why);
      lock.unlock();
      std::this_thread::sleep_for(std::min<Clock::duration>(pause, deadline - now));
    }
  }

 private:
  std::string named(const std::string& key) const { return fmt::format("{}.{}", key, number_); }

  std::shared_ptr<Answer> ask(const std::string& key) const {
    PmixProcess from = self_;
    from.rank = 0;
    auto answer = std::make_shared<Answer>();
    auto context = std::make_unique<std::shared_ptr<Answer>>(answer);
    const int error = pmix_.get(&from, named(key).c_str(), nullptr, 0, take_answer, context.get());
    if (error == kSuccess) {
      static_cast<void>(context.release());  // take_answer's
    } else {
      answer->status = error;
    }
    return answer;
  }

  Status failed(const char* what, const std::string& key, int error) const {
    return unavailable(fmt::format("PMIx did not {} \"{}\": {}", what, key, pmix_.error_text(error)));
  }

  static Result<std::string> from_hex(const std::string& key, const std::string& hex) {
    const auto digit = [](char c) { return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1; };
    std::string bytes;
    for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
      if (digit(hex[i]) < 0 || digit(hex[i + 1]) < 0) break;
      bytes += static_cast<char>(16 * digit(hex[i]) + digit(hex[i + 1]));
    }
    if (2 * bytes.size() == hex.size()) return bytes;
    return data_loss("the PMIx entry \"" + key + "\" was not written by this library");
  }

  Pmix pmix_;
  PmixProcess self_;
  Clock::time_point deadline_;
  unsigned number_;
};

}  // namespace

Result<std::unique_ptr<Store>> open_pmix_store(Rank rank, int ranks, Clock::time_point deadline,
                                               const std::string& library) {
  static std::atomic<unsigned> opened{0};
  auto pmix = load(library);
  if (!pmix) return pmix.status();
  const auto self = std::make_shared<PmixProcess>();
  const auto error = call_until(deadline, [init = pmix->init, self] { return init(self.get(), nullptr, 0); });
  if (!error) return error.status();
  if (*error != kSuccess) {
    return unavailable(
        fmt::format("no PMIx server answers this process ({}): start the ranks with mpirun or \"srun "
                    "--mpi=pmix\", or set CASYNC_RENDEZVOUS on all ranks",
                    pmix->error_text(*error)));
  }
  auto store = std::make_unique<PmixStore>(*pmix, *self, deadline, opened.fetch_add(1));
  if (self->rank != static_cast<std::uint32_t>(rank)) {
    return invalid_argument(
        fmt::format("rank {} of {} is rank {} for PMIx: set CASYNC_RENDEZVOUS on all ranks", rank, ranks, self->rank));
  }
  return std::unique_ptr<Store>(std::move(store));
}

}  // namespace casync::runtime
