#include "plait/io/inside/logs/event_messages.h"

#include "plait/io/inside/logs/event_fields.h"

namespace plait {
namespace {

ProtobufWriter begin_event(const EventTime& time) {
  ProtobufWriter event;
  event.real(event_field::wall_time, time.wall_time);
  if (time.step != 0) event.integer(event_field::step, time.step);
  return event;
}

ProtobufWriter begin_value(std::string_view tag) {
  ProtobufWriter value;
  value.text(value_field::tag, tag);
  return value;
}

ProtobufWriter plugin_metadata(std::string_view plugin, std::string_view content) {
  ProtobufWriter data, message;
  data.text(plugin_field::name, plugin);
  if (!content.empty()) data.text(plugin_field::content, content);
  message.message(metadata_field::plugin, data);
  return message;
}

// The beginning of a vector: its dtype and its size.
ProtobufWriter begin_tensor(int64_t dtype, int64_t size) {
  ProtobufWriter dimension, shape, tensor;
  if (size != 0) dimension.integer(dimension_field::size, size);
  shape.message(shape_field::dimension, dimension);
  tensor.integer(tensor_field::dtype, dtype).message(tensor_field::shape, shape);
  return tensor;
}

}  // namespace

std::string version_event(double wall_time) {
  return begin_event({.wall_time = wall_time})
      .text(event_field::file_version, kEventVersion)
      .bytes();
}

std::string restart_event(const EventTime& time) {
  ProtobufWriter log;
  log.integer(session_log_field::status, session_log_field::kStart);
  return begin_event(time).message(event_field::session_log, log).bytes();
}

std::string graph_event(const EventTime& time, std::string_view graph) {
  return begin_event(time).text(event_field::graph, graph).bytes();
}

std::string summary_event(const EventTime& time, std::span<const ProtobufWriter> values) {
  ProtobufWriter summary;
  for (const ProtobufWriter& value : values) summary.message(summary_field::value, value);
  return begin_event(time).message(event_field::summary, summary).bytes();
}

ProtobufWriter scalar_value(std::string_view tag, double value) {
  return begin_value(tag).narrow_real(value_field::number, static_cast<float>(value));
}

ProtobufWriter image_value(std::string_view tag, const PngImage& image) {
  ProtobufWriter message;
  message.integer(image_field::height, image.height).integer(image_field::width, image.width);
  message.integer(image_field::channels, image.channels).text(image_field::encoded, image.bytes);
  return begin_value(tag).message(value_field::image, message);
}

ProtobufWriter histogram_value(std::string_view tag, const Histogram& histogram) {
  ProtobufWriter message;
  message.real(histogram_field::min, histogram.min).real(histogram_field::max, histogram.max);
  message.real(histogram_field::count, histogram.count);
  message.real(histogram_field::sum, histogram.sum);
  message.real(histogram_field::sum_of_squares, histogram.sum_of_squares);
  message.packed(histogram_field::limits, histogram.limits);
  message.packed(histogram_field::counts, histogram.counts);
  return begin_value(tag).message(value_field::histogram, message);
}

// The text plugin lists its tags with this ending.
ProtobufWriter text_value(std::string_view tag, std::string_view text) {
  ProtobufWriter tensor = begin_tensor(tensor_field::kText, 1);
  tensor.text(tensor_field::text, text);
  return begin_value(std::string(tag) + "/text_summary")
      .message(value_field::metadata, plugin_metadata("text", {}))
      .message(value_field::tensor, tensor);
}

ProtobufWriter plugin_value(std::string_view tag, std::string_view plugin,
                            std::string_view content) {
  return begin_value(tag)
      .message(value_field::metadata, plugin_metadata(plugin, content))
      .message(value_field::tensor, begin_tensor(tensor_field::kFloat, 0));
}

}  // namespace plait
