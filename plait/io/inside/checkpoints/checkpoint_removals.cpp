#include "plait/io/inside/checkpoints/checkpoint_removals.h"

#include <filesystem>
#include <fstream>
#include <system_error>

namespace plait {
namespace {

constexpr const char* kEnd = "end";  // the last line; without it the note is torn

std::string note_in(const std::string& folder) { return folder + "/.removals"; }

}  // namespace

void note_removals(const std::string& folder, const Removals& removals) {
  std::ofstream file(note_in(folder));
  file << removals.step << '\n';
  for (const int64_t step : removals.removed) file << step << '\n';
  file << kEnd << '\n';
}

Removals noted_removals(const std::string& folder) {
  std::ifstream file(note_in(folder));
  Removals removals;
  file >> removals.step;
  for (int64_t step = 0; file >> step;) removals.removed.insert(step);
  file.clear();
  std::string end;
  file >> end;
  return end == kEnd ? removals : Removals{};
}

void remove_note(const std::string& folder) {
  std::error_code ignored;
  std::filesystem::remove(note_in(folder), ignored);
}

}  // namespace plait
