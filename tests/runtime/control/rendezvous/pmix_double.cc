// SPDX-License-Identifier: Apache-2.0
//
// A libpmix.so.2 of the tests: one process, a map, and answers from another thread. As the true one, it refuses calls
// while PMIx_Finalize() has been called as often as PMIx_Init(). PMIX_DOUBLE_RANK is its rank; PMIX_DOUBLE_SILENT is
// the call that never returns ("init", "commit") or whose first answer is lost ("first get").
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

namespace {

struct Process {
  char space[256];
  std::uint32_t rank;
};
struct Value {
  std::uint16_t type;
  union {
    char* text;
    char room[64];
  };
};
using GetCallback = void (*)(int, Value*, void*);

constexpr int kNotFound = -46, kNotOpen = -31, kBadParameter = -27, kNoServer = -25;
constexpr std::uint8_t kGlobal = 3;
constexpr std::uint16_t kString = 3;

std::mutex mutex;
std::map<std::string, std::string> waiting, committed;
int opened = 0;  // calls of PMIx_Init() that no PMIx_Finalize() has ended

bool is_silent(const char* call) {
  const char* const silent = std::getenv("PMIX_DOUBLE_SILENT");
  return silent != nullptr && std::string(silent) == call;
}

void never_return() {
  for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
}

}  // namespace

extern "C" {

__attribute__((visibility("default"))) int PMIx_Init(Process* self, void*, std::size_t) {
  const char* const rank = std::getenv("PMIX_DOUBLE_RANK");
  if (is_silent("init")) never_return();
  if (rank == nullptr) return kNoServer;
  std::strcpy(self->space, "double");
  self->rank = static_cast<std::uint32_t>(std::atoi(rank));
  const std::lock_guard lock(mutex);
  ++opened;
  return 0;
}

__attribute__((visibility("default"))) int PMIx_Finalize(const void*, std::size_t) {
  const std::lock_guard lock(mutex);
  if (opened == 0) return kNotOpen;
  --opened;
  return 0;
}

__attribute__((visibility("default"))) int PMIx_Put(std::uint8_t scope, const char* key, Value* value) {
  const std::lock_guard lock(mutex);
  if (opened == 0) return kNotOpen;
  if (scope != kGlobal || value->type != kString) return kBadParameter;
  waiting[key] = value->text;
  return 0;
}

__attribute__((visibility("default"))) int PMIx_Commit() {
  if (is_silent("commit")) never_return();
  const std::lock_guard lock(mutex);
  if (opened == 0) return kNotOpen;
  for (const auto& [key, text] : waiting) committed[key] = text;
  return 0;
}

__attribute__((visibility("default"))) int PMIx_Get_nb(const Process* from, const char* name, const void*, std::size_t,
                                                       GetCallback call, void* context) {
  {
    const std::lock_guard lock(mutex);
    if (opened == 0) return kNotOpen;
  }
  if (from->rank != 0) return kNotFound;
  static bool asked = false;
  if (is_silent("first get") && !std::exchange(asked, true)) return 0;
  std::thread([key = std::string(name), call, context] {
    std::string text;
    bool known = false;
    {
      const std::lock_guard lock(mutex);
      known = committed.count(key) != 0;
      if (known) text = committed[key];
    }
    Value value{};
    value.type = kString;
    value.text = text.data();
    call(known ? 0 : kNotFound, known ? &value : nullptr, context);
  }).detach();
  return 0;
}

__attribute__((visibility("default"))) const char* PMIx_Error_string(int status) {
  return status == kNoServer ? "UNREACHABLE" : "ERROR";
}
}
