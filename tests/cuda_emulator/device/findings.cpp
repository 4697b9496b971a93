#include "tests/cuda_emulator/device/findings.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <numeric>

namespace emulator {
namespace {

uint64_t number_in_environment(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  if (!text || !*text) return otherwise;
  char* end = nullptr;
  const uint64_t value = std::strtoull(text, &end, 10);
  return *end ? otherwise : value;
}

Settings read_settings() {
  Settings read;
  read.devices =
      static_cast<int>(std::min<uint64_t>(number_in_environment("PLAIT_EMULATED_DEVICES", 2), 16));
  const uint64_t memory = number_in_environment("PLAIT_EMULATED_MEMORY", read.memory);
  read.memory = std::clamp<uint64_t>(memory, uint64_t{1} << 20, uint64_t{1} << 38);
  read.order = static_cast<int>(number_in_environment("PLAIT_EMULATED_ORDER", 0));
  read.check = number_in_environment("PLAIT_EMULATED_CHECK", 1) != 0;
  return read;
}

Settings& stored_settings() {
  static Settings stored = read_settings();
  return stored;
}

struct Findings {
  std::mutex mutex;
  std::string text;
};

Findings& findings() {
  static Findings* all =
      new Findings;  // kept to the end of the process: findings may come while it ends
  return *all;
}

// A random number of 64 bits from a counter (splitmix64).
uint64_t mixed(uint64_t& state) {
  state += 0x9e3779b97f4a7c15u;
  uint64_t z = state;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

}  // namespace

const Settings& settings() { return stored_settings(); }

void read_settings_again() {
  const Settings read = read_settings();
  stored_settings().order = read.order;
  stored_settings().check = read.check;
}

void choose_order(int* indices, int count, uint64_t salt) {
  std::iota(indices, indices + count, 0);
  const int order = settings().order;
  if (order == 1) std::reverse(indices, indices + count);
  if (order < 2) return;
  uint64_t state = static_cast<uint64_t>(order) * 0x2545f4914f6cdd1du + salt;
  for (int last = count - 1; last > 0; --last) {
    std::swap(indices[last], indices[mixed(state) % static_cast<uint64_t>(last + 1)]);
  }
}

std::vector<int> chosen_order(int count, uint64_t salt) {
  std::vector<int> indices(static_cast<size_t>(count));
  choose_order(indices.data(), count, salt);
  return indices;
}

void note_finding(const std::string& text) {
  const std::lock_guard lock(findings().mutex);
  findings().text += text + "\n";
  std::fprintf(stderr, "plait emulator: %s\n", text.c_str());
}

const char* findings_text() {
  static thread_local std::string copy;
  const std::lock_guard lock(findings().mutex);
  copy = findings().text;
  return copy.c_str();
}

void forget_findings() {
  const std::lock_guard lock(findings().mutex);
  findings().text.clear();
}

}  // namespace emulator
