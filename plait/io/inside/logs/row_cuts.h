// Where the logs with one row a step are cut when a run is resumed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace plait {

inline constexpr std::string_view kStepColumn = "step";

struct RowCut {
  size_t size = 0;                        // size of what stays
  std::optional<int64_t> last_step = {};  // last step of what stays
  bool needs_line_end = false;            // after what stays
};

// The rows before the first one of `from_step` or later, without an unfinished last row.
// ParseErrors name the line; steps must ascend. The rows are read from the last one backwards, up
// to the first that stays.
RowCut jsonl_cut(std::string_view text, int64_t from_step);

// The same. The rows are read from the first one on, since only so it is known which are quoted.
struct CsvCut : RowCut {
  std::vector<std::string> columns = {};  // after the step; empty if nothing stays
};
CsvCut csv_cut(std::string_view text, int64_t from_step);

}  // namespace plait
