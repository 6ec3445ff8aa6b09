// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/strangers.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <random>
#include <set>
#include <sstream>

namespace casync::test {
namespace {

std::set<std::string> socket_inodes() {
  std::set<std::string> inodes;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code ignored;
    const std::string target = std::filesystem::read_symlink(entry.path(), ignored).string();
    if (target.starts_with("socket:[")) inodes.insert(target.substr(8, target.size() - 9));
  }
  return inodes;
}

std::string words_of(std::uint32_t kind) {
  std::mt19937 random(kind);
  std::string noise(1 + random() % 3000, '\0');
  for (char& c : noise) c = static_cast<char>(random());
  switch (kind % 5) {
    case 0: return noise;
    case 1: return "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
    case 2: return std::string("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11) + noise;
    // The magic number with which UCX's tcp begins, and then nonsense.
    case 3: return std::string("\xff\xee\xdd\xcc\xbb\xaa\x99\xce", 8) + noise;
    default: return "";
  }
}

}  // namespace

std::vector<Listener> tcp_listeners_of_this_process() {
  const std::set<std::string> own = socket_inodes();
  std::vector<Listener> listeners;
  std::ifstream table("/proc/self/net/tcp");
  std::string line;
  std::getline(table, line);  // titles
  while (std::getline(table, line)) {
    std::istringstream fields(line);
    std::string number, local, remote, state, queues, timer, retransmits, uid, timeout, inode;
    fields >> number >> local >> remote >> state >> queues >> timer >> retransmits >> uid >> timeout >> inode;
    if (state != "0A" || own.count(inode) == 0) continue;
    Listener listener;
    unsigned port = 0;
    if (std::sscanf(local.c_str(), "%8X:%4X", &listener.address, &port) != 2) continue;
    listener.port = static_cast<std::uint16_t>(port);
    listeners.push_back(listener);
  }
  return listeners;
}

void knock(const Listener& listener, std::uint32_t kind) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(listener.port);
  address.sin_addr.s_addr = listener.address;
  if (connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
    const std::string words = words_of(kind);
    [[maybe_unused]] const ssize_t said = send(fd, words.data(), words.size(), MSG_NOSIGNAL);
  }
  close(fd);
}

}  // namespace casync::test
