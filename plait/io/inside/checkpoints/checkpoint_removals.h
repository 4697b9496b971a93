// The checkpoints that are removed when a new one is there. A note in the folder lists them before,
// so that those of a process that was killed in between are removed when the folder is opened next,
// by the rule of the run that has written, whatever the options are then.
#pragma once

#include <cstdint>
#include <set>
#include <string>

namespace plait {

struct Removals {
  int64_t step = 0;  // the new one
  std::set<int64_t> removed = {};
};

// If the note cannot be written, such as on a full disk, they stay after a kill.
void note_removals(const std::string& folder, const Removals& removals);
// Nothing if there is no note, or a torn one.
Removals noted_removals(const std::string& folder);
void remove_note(const std::string& folder);

}  // namespace plait
