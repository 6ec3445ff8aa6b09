// SPDX-License-Identifier: Apache-2.0
#include "tests/runtime/control/control_support.h"

#include <algorithm>

#include "runtime/control/wire/socket.h"

namespace casync::runtime::testing {

StoreFunctions SharedMap::functions() {
  StoreFunctions functions;
  functions.set = [this](const std::string& key, const std::string& value) {
    const std::lock_guard lock(mutex_);
    values_[key] = value;
    changed_.notify_all();
    return Status::ok();
  };
  functions.get = [this](const std::string& key, double timeout_s) -> Result<std::string> {
    std::unique_lock lock(mutex_);
    changed_.wait_until(lock, after(Seconds(timeout_s)), [&] { return values_.count(key) != 0; });
    if (values_.count(key) == 0) return timeout_error(key + " did not appear");
    return values_[key];
  };
  return functions;
}

GroupOptions quick_options(Rank rank, int ranks, Store* store) {
  GroupOptions options;
  options.rank = rank;
  options.ranks = ranks;
  options.store = store;
  options.interface_name = "lo";
  options.insecure = true;  // tests meet at bare addresses
  options.timeout = Seconds(10);
  options.beat = Seconds(0.1);
  options.stall = Seconds(1);
  return options;
}

std::vector<Joined> join_all(const std::vector<GroupOptions>& options) {
  std::vector<Joined> joined;
  for (std::size_t i = 0; i < options.size(); ++i) joined.emplace_back(internal_error("not joined"));
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < options.size(); ++i) {
    threads.emplace_back([&, i] { joined[i] = Group::join(options[i]); });
  }
  for (std::thread& thread : threads) thread.join();
  return joined;
}

std::vector<GroupOptions> options_of_all(int ranks, std::vector<std::unique_ptr<Store>>& stores,
                                         const std::function<std::unique_ptr<Store>()>& make_store) {
  std::vector<GroupOptions> options;
  for (Rank rank = 0; rank < ranks; ++rank) {
    stores.push_back(make_store());
    options.push_back(quick_options(rank, ranks, stores.back().get()));
  }
  return options;
}

Ranks::Ranks(int ranks, Seconds beat) {
  options = options_of_all(ranks, stores, [&] { return make_file_store(directory.path()); });
  for (GroupOptions& each : options) {
    each.beat = beat;
    each.dead = std::max(each.dead, 10 * beat);
  }
  joined = join_all(options);
}

void Ranks::each(const std::function<void(Rank, Group&)>& body) {
  std::vector<std::thread> threads;
  for (Rank rank = 0; rank < static_cast<Rank>(joined.size()); ++rank) {
    threads.emplace_back([&, rank] { body(rank, **joined[static_cast<std::size_t>(rank)]); });
  }
  for (std::thread& thread : threads) thread.join();
}

std::uint16_t free_port(const std::string& host) {
  const auto found = resolve({host, 0});
  if (!found) return 0;
  const Result<Fd> holder = listen_on(found->front());
  return holder ? local_address(holder->get()).port() : std::uint16_t{0};
}

std::vector<std::string> texts_of(const std::vector<Joined>& joined) {
  std::vector<std::string> texts;
  for (const Joined& each : joined) texts.push_back(each ? "" : each.status().text());
  return texts;
}

}  // namespace casync::runtime::testing
