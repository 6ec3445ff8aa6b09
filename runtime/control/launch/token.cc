// SPDX-License-Identifier: Apache-2.0
#include "runtime/control/launch/token.h"

#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include "runtime/control/wire/crypto.h"
#include "runtime/control/wire/private_file.h"

namespace casync::runtime {
namespace {

constexpr Bytes kMostTokenBytes = 4_KiB;
constexpr Bytes kLeastTokenBytes = 8;
constexpr Bytes kStrongTokenBytes = 32;

Result<std::string> read_token_file(const std::string& path) {
  // A mounted secret is a link to its file, which is what has to be private.
  std::error_code unknown;
  const std::filesystem::path file = std::filesystem::canonical(path, unknown);
  auto content = read_private_file(unknown ? path : file.string(), kMostTokenBytes, nullptr);
  if (!content) return Status(content.status().code(), "CASYNC_TOKEN_FILE: " + content.status().message());
  while (!content->empty() && (content->back() == '\n' || content->back() == '\r')) content->pop_back();
  return content;
}

}  // namespace

Result<std::string> read_token(const Environment& env) {
  std::string token = env("CASYNC_TOKEN").value_or("");
  const std::string path = env("CASYNC_TOKEN_FILE").value_or("");
  if (!path.empty()) {
    auto content = read_token_file(path);
    if (!content) return content.status();
    if (!token.empty() && !same_secret(token, *content)) {
      return invalid_argument("CASYNC_TOKEN and CASYNC_TOKEN_FILE hold different tokens: set one of them");
    }
    token = *content;
  }
  if (token.empty() && path.empty()) return token;
  return check_token(std::move(token), path.empty() ? "CASYNC_TOKEN" : "CASYNC_TOKEN_FILE");
}

Result<std::string> check_token(std::string token, const char* source) {
  if (token.size() >= kLeastTokenBytes) return token;
  return invalid_argument(
      fmt::format("the token in {} has {} characters, at least {} are needed (good: openssl rand "
                  "-hex 32)",
                  source, token.size(), kLeastTokenBytes));
}

std::string stretched(std::string token) {
  if (token.empty() || token.size() >= kStrongTokenBytes) return token;
  return scrypt(token, "casync job token");
}

}  // namespace casync::runtime
