// The files of events in a folder, which together are one log.
//
// When a run is resumed, the files are written again without the records that the run will write
// again. TensorBoard itself expects only a mark in the next file (SessionLog START with the step),
// which its viewer honours, but not every reader of the files. The mark is written, too, for a
// TensorBoard that has read the former records already.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "plait/io/inside/logs/event_records.h"

namespace plait {

// The paths of the files with events in the folder, in the order in which they are read.
std::vector<std::string> event_files(const std::string& folder);

// A path in the folder that comes after all of them.
std::string next_event_file(const std::string& folder, double wall_time, std::string_view ending);

// Writes each of these files of the folder again with the records for which `keep` is true, and
// with the version of the format. All are checked before one is replaced. A killed process leaves
// the old or the new file. A file without records stays: a TensorBoard that is reading it would not
// go on to the next one if it were removed.
void filter_events(const std::string& folder, const std::vector<std::string>& files,
                   const std::function<bool(const EventContent&)>& keep);

// Records that describe a run instead of a step, by their tags; kGraphTag is the graph's.
inline constexpr std::string_view kGraphTag = "graph";
using Descriptions = std::map<std::string, std::string>;

// Removes the records of the step and later ones, and what is torn. The end of a session is
// removed, too: it goes on. Returns the descriptions that stay.
Descriptions cut_events(const std::string& folder, const std::vector<std::string>& files,
                        int64_t from_step);

// The tag of a description; "" of another event.
std::string_view description_tag(const EventContent& content);

}  // namespace plait
