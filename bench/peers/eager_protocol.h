// Protocol of the programs of compare.py: they take the name of a case, and answer requests from
// standard input on standard output: `result`, or `run<TAB>count`.
#pragma once

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <string>
#include <vector>

struct EagerCase {
  const char* name;
  double goal;  // largest allowed ratio of Plait's time to the other's
  int calls;    // operations in one run
  std::function<double()> run;
};

inline constexpr const char* kAdd = "add 16 floats (C++)";
inline constexpr const char* kGradient = "gradient of 2,000 products of 16 floats (C++)";
inline constexpr int kSums = 10'000, kProducts = 2'000;

inline int answer(const std::vector<EagerCase>& cases, int count, char** arguments) {
  const std::string wanted = count > 1 ? arguments[1] : "--list";
  for (const EagerCase& each : cases) {
    if (wanted == "--list") std::printf("%s\t%g\t%d\n", each.name, each.goal, each.calls);
    if (wanted != each.name) continue;
    for (std::string line; std::getline(std::cin, line);) {
      if (line == "result") {
        std::printf("%.9g\n", each.run());
      } else {
        const int runs = std::atoi(line.c_str() + line.find('\t') + 1);
        const auto start = std::chrono::steady_clock::now();
        for (int i = 0; i < runs; ++i) each.run();
        const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
        std::printf("%.9g\n", took.count() / runs);
      }
      std::fflush(stdout);
    }
  }
  return 0;
}
