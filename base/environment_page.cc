// SPDX-License-Identifier: Apache-2.0
//
// Prints docs/environment.md.
#include <cstdio>

#include "base/env.h"

int main() { return std::fputs(casync::environment_page().c_str(), stdout) < 0 ? 1 : 0; }
