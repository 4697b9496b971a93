// The settings of the emulator, and the findings of its checks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace emulator {

struct Settings {
  int devices = 2;
  size_t memory = size_t{2} << 30;  // bytes of each device
  int order = 0;                    // 0: in order, 1: reversed, more: the seed of random orders
  bool check = true;
};

const Settings& settings();
// Reads the order and whether to check again; devices and their memory keep their numbers.
void read_settings_again();

// 0 to count - 1 in the order that the settings choose; `salt` makes random orders differ from use
// to use.
std::vector<int> chosen_order(int count, uint64_t salt);
void choose_order(int* indices, int count, uint64_t salt);

// Adds a finding, and prints it to stderr.
void note_finding(const std::string& text);
const char* findings_text();
void forget_findings();

}  // namespace emulator
