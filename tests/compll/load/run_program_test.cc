// SPDX-License-Identifier: Apache-2.0
#include "compll/load/run_program.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <string>

#include "base/unique_fd.h"
#include "tests/environment/scoped_variable.h"
#include "tests/support/temporary_directory.h"

namespace casync::compll {
namespace {

ProgramEnd run(const std::string& script, double seconds = 60) {
  const std::string command[] = {"/bin/sh", "-c", script};
  const Result<ProgramEnd> end = run_program(command, seconds);
  REQUIRE(end.status().text() == "OK");
  return *end;
}

/// A pipe with a name, whose other end a program and its children hold.
class Held {
 public:
  Held() {
    REQUIRE(::mkfifo(path().c_str(), 0600) == 0);
    reader_ = UniqueFd(::open(path().c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    REQUIRE(reader_.get() >= 0);
  }

  std::string path() const { return folder_.path() + "/pipe"; }
  /// Waits until no process holds the other end any more.
  bool is_let_go() const {
    pollfd closed{reader_.get(), 0, 0};
    return ::poll(&closed, 1, 10'000) == 1 && (closed.revents & POLLHUP) != 0;
  }

 private:
  test::TemporaryDirectory folder_;
  UniqueFd reader_;
};

}  // namespace

TEST_CASE("run_program: the exit code, the signal and what was written to stderr come back") {
  CHECK(run("exit 0").exit_code == 0);
  CHECK(run("exit 7").exit_code == 7);
  CHECK(run("kill -9 $$").exit_code == 128 + 9);
  CHECK(run("kill -9 $$").signal == 9);
  CHECK(run("exit 137").signal == 0);
  CHECK(text_of(run("kill -11 $$")) == "was ended by signal 11 (Segmentation fault)");
  CHECK(text_of(run("exit 7")) == "ended with 7");
  const ProgramEnd end = run("echo out; echo one >&2; echo two >&2; exit 1");
  CHECK(end.said == "one\ntwo\n");
  CHECK_FALSE(end.too_late);
}

TEST_CASE("run_program: words are words, whatever is in them") {
  const std::string command[] = {"/bin/sh", "-c", "printf %s \"$1\" >&2", "sh", "a b;$(exit 3) 'c'"};
  const Result<ProgramEnd> end = run_program(command, 60);
  REQUIRE(end.is_ok());
  CHECK(end->said == "a b;$(exit 3) 'c'");
}

TEST_CASE("run_program: it finds nothing to read and does not write to our stdout") {
  CHECK(run("cat; echo to nowhere; exit 4").exit_code == 4);
}

TEST_CASE("run_program: what is written to stderr comes back to a process without stdin, stdout and stderr") {
  int kept[3];
  for (int fd = 0; fd < 3; ++fd) kept[fd] = ::fcntl(fd, F_DUPFD_CLOEXEC, 3);
  for (int fd = 0; fd < 3; ++fd) ::close(fd);
  const std::string command[] = {"/bin/sh", "-c", "echo said >&2; echo out; cat; exit 3"};
  const Result<ProgramEnd> end = run_program(command, 60);
  for (int fd = 0; fd < 3; ++fd) {
    if (kept[fd] < 0) continue;
    ::dup2(kept[fd], fd);
    ::close(kept[fd]);
  }
  REQUIRE(end.status().text() == "OK");
  CHECK(end->exit_code == 3);
  CHECK(end->said == "said\n");
}

TEST_CASE("run_program: whatever the locale is, messages are English") {
  const ScopedVariable german("LC_ALL", "de_DE.UTF-8"), word("WORD_OF_TEST", "kept");
  CHECK(run("echo $LC_ALL $WORD_OF_TEST >&2").said == "C kept\n");
}

TEST_CASE("run_program: where this program ignores that children end, those that it starts do not") {
  auto* const before = std::signal(SIGCHLD, SIG_IGN);
  const std::string command[] = {"/bin/dd", "status=none", "if=/proc/self/status", "of=/dev/stderr"};
  const Result<ProgramEnd> end = run_program(command, 60);
  std::signal(SIGCHLD, before);
  REQUIRE(end.status().text() == "OK");
  const std::string word = "SigIgn:\t";
  const std::size_t at = end->said.find(word);
  REQUIRE(at != std::string::npos);
  const unsigned long long ignored = std::stoull(end->said.substr(at + word.size(), 16), nullptr, 16);
  CHECK((ignored >> (SIGCHLD - 1) & 1) == 0);
}

TEST_CASE("run_program: more than a pipe holds does not stop it, and the first 64 KiB are kept") {
  const ProgramEnd end = run("i=0; while [ $i -lt 20000 ]; do echo 0123456789; i=$((i+1)); done >&2; exit 5");
  CHECK(end.exit_code == 5);
  CHECK(end.said.size() == 65536);
}

TEST_CASE("run_program: after its time it is ended, with what it has started") {
  const Held held;
  const ProgramEnd end = run("exec 3>" + held.path() + "; sleep 60 & echo begun >&2; sleep 100", 2);
  CHECK(end.too_late);
  CHECK(end.exit_code == 128 + 15);
  CHECK(end.said == "begun\n");
  CHECK(held.is_let_go());
}

TEST_CASE("run_program: one that does not end when it is asked to is killed, with what it has started") {
  const Held held;
  const ProgramEnd end = run("trap '' TERM; exec 3>" + held.path() + "; sleep 60 & echo begun >&2; sleep 100", 2);
  CHECK(end.too_late);
  CHECK(end.exit_code == 128 + 9);
  CHECK(held.is_let_go());
}

TEST_CASE("run_program: after its time it can remove its temporary files, and what stays behind is killed") {
  test::TemporaryDirectory folder;
  const Held held;
  const std::string file = folder.path() + "/temporary";
  const std::string script = "(trap '' TERM; exec 3>" + held.path() + "; sleep 60) & trap 'rm -f " + file +
                             "; exit 1' TERM; echo text >" + file + "; while :; do sleep 0.1; done";
  const ProgramEnd end = run(script, 2);
  CHECK(end.too_late);
  CHECK(end.exit_code == 1);
  CHECK(::access(file.c_str(), F_OK) != 0);
  CHECK(held.is_let_go());
}

TEST_CASE("run_program: what a program has started is ended where a signal ended the program") {
  const Held held;
  const ProgramEnd end = run("exec 3>" + held.path() + "; sleep 60 & kill -9 $$");
  CHECK_FALSE(end.too_late);
  CHECK(end.signal == 9);
  CHECK(held.is_let_go());
}

TEST_CASE("run_program: one that leaves a process running that holds its stderr has ended all the same") {
  const ProgramEnd end = run("sleep 100 & echo $! >&2; exit 6", 30);
  CHECK(end.exit_code == 6);
  CHECK_FALSE(end.too_late);
  run("kill " + end.said);
}

TEST_CASE("run_program: a program that cannot be started is named, with the reason") {
  const std::string command[] = {"/nowhere/compiler"};
  const Status status = run_program(command, 1).status();
  CHECK(status.code() == StatusCode::kUnavailable);
  CHECK_THAT(status.message(), Catch::Contains("/nowhere/compiler") && Catch::Contains("No such file"));
}

TEST_CASE("run_program: what a compiler says is shown without orders to a terminal, a NUL or endless lines") {
  const std::string nul(1, '\0');
  CHECK(first_lines("a" + nul + "b\x1b[31m\tc\r\nd\n") == "\n  a?b?[31m\tc?\n  d");
  CHECK(first_lines("\xe2\x80\x98"
                    "x\xe2\x80\x99") ==
        "\n  \xe2\x80\x98"
        "x\xe2\x80\x99");
  CHECK(first_lines(std::string(100'000, 'x')) == "\n  " + std::string(400, 'x') + " ...");
  std::string many;
  for (int i = 0; i < 100; ++i) many += "line\n";
  CHECK(first_lines(many).size() == 12 * 7);
}

}  // namespace casync::compll
