// The messages of TensorBoard's events: what a log writes, as Protocol Buffers.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "plait/io/inside/logs/histogram_buckets.h"
#include "plait/io/inside/logs/png_image.h"
#include "plait/io/inside/protobuf_fields.h"

namespace plait {

struct EventTime {
  double wall_time = 0;  // seconds since 1970
  int64_t step = 0;
};

// Events.
std::string version_event(double wall_time);       // the first one of a file
std::string restart_event(const EventTime& time);  // later steps of earlier files are void
std::string graph_event(const EventTime& time, std::string_view graph);
std::string summary_event(const EventTime& time, std::span<const ProtobufWriter> values);

// Values of a summary. Scalars are f32: TensorBoard has no others.
ProtobufWriter scalar_value(std::string_view tag, double value);
ProtobufWriter image_value(std::string_view tag, const PngImage& image);
ProtobufWriter histogram_value(std::string_view tag, const Histogram& histogram);
ProtobufWriter text_value(std::string_view tag, std::string_view text);

// For a plugin that reads `content` only.
ProtobufWriter plugin_value(std::string_view tag, std::string_view plugin,
                            std::string_view content);

}  // namespace plait
