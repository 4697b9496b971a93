// The numbers of the fields in TensorBoard's messages, as in its .proto files.
#pragma once

#include <cstdint>
#include <string_view>

namespace plait {

namespace event_field {
enum : uint32_t {
  wall_time = 1,
  step = 2,
  file_version = 3,
  graph = 4,
  summary = 5,
  session_log = 7
};
}
namespace session_log_field {
enum : uint32_t { status = 1 };
inline constexpr int64_t kStart = 1;
}  // namespace session_log_field
namespace summary_field {
enum : uint32_t { value = 1 };
}
namespace value_field {
enum : uint32_t { tag = 1, number = 2, image = 4, histogram = 5, tensor = 8, metadata = 9 };
}
namespace image_field {
enum : uint32_t { height = 1, width = 2, channels = 3, encoded = 4 };
}
namespace histogram_field {
enum : uint32_t {
  min = 1,
  max = 2,
  count = 3,
  sum = 4,
  sum_of_squares = 5,
  limits = 6,
  counts = 7
};
}
namespace metadata_field {
enum : uint32_t { plugin = 1 };
}
namespace plugin_field {
enum : uint32_t { name = 1, content = 2 };
}
namespace tensor_field {
enum : uint32_t { dtype = 1, shape = 2, text = 8 };
inline constexpr int64_t kFloat = 1, kText = 7;
}  // namespace tensor_field
namespace shape_field {
enum : uint32_t { dimension = 2, is_unknown = 3 };
}
namespace dimension_field {
enum : uint32_t { size = 1 };
}

inline constexpr std::string_view kEventVersion = "brain.Event:2";
inline constexpr std::string_view kHparamsPrefix = "_hparams_/";
inline constexpr std::string_view kHparamsExperiment = "_hparams_/experiment";
inline constexpr std::string_view kHparamsStart = "_hparams_/session_start_info";
inline constexpr std::string_view kHparamsEnd = "_hparams_/session_end_info";

}  // namespace plait
