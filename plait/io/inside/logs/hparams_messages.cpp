#include "plait/io/inside/logs/hparams_messages.h"

#include <variant>

#include "plait/io/inside/logs/event_fields.h"
#include "plait/io/inside/logs/event_messages.h"

namespace plait {
namespace {

namespace plugin_data_field {
enum : uint32_t { experiment = 2, start = 3, end = 4 };
}
namespace experiment_field {
enum : uint32_t { hparam = 4, metric = 5 };
}
namespace hparam_field {
enum : uint32_t { name = 1, type = 4 };
}
namespace metric_field {
enum : uint32_t { name = 1 };
}
namespace metric_name_field {
enum : uint32_t { tag = 2 };
}
namespace start_field {
enum : uint32_t { hparam = 1 };
}
namespace end_field {
enum : uint32_t { status = 1, time = 2 };
}
namespace entry_field {
enum : uint32_t { key = 1, value = 2 };
}
namespace any_value_field {
enum : uint32_t { number = 2, text = 3, boolean = 4 };
}
enum class HparamType : int64_t { text = 1, boolean = 2, number = 3 };

HparamType type_of_hparam(const LogValue& value) {
  if (std::holds_alternative<std::string>(value.any())) return HparamType::text;
  return std::holds_alternative<bool>(value.any()) ? HparamType::boolean : HparamType::number;
}

struct AsAnyValue {
  ProtobufWriter operator()(bool value) const {
    return ProtobufWriter().integer(any_value_field::boolean, value ? 1 : 0);
  }
  ProtobufWriter operator()(int64_t value) const { return (*this)(static_cast<double>(value)); }
  ProtobufWriter operator()(double value) const {
    return ProtobufWriter().real(any_value_field::number, value);
  }
  ProtobufWriter operator()(const std::string& value) const {
    return ProtobufWriter().text(any_value_field::text, value);
  }
};

ProtobufWriter hparams_value(std::string_view tag, uint32_t field, const ProtobufWriter& message) {
  return plugin_value(tag, "hparams", ProtobufWriter().message(field, message).bytes());
}

}  // namespace

ProtobufWriter hparams_experiment(std::span<const LogEntry> values,
                                  std::span<const std::string> metrics) {
  ProtobufWriter experiment;
  for (const LogEntry& entry : values) {
    ProtobufWriter hparam;
    hparam.text(hparam_field::name, entry.name);
    hparam.integer(hparam_field::type, static_cast<int64_t>(type_of_hparam(entry.value)));
    experiment.message(experiment_field::hparam, hparam);
  }
  for (const std::string& tag : metrics) {
    ProtobufWriter name, metric;
    metric.message(metric_field::name, name.text(metric_name_field::tag, tag));
    experiment.message(experiment_field::metric, metric);
  }
  return hparams_value(kHparamsExperiment, plugin_data_field::experiment, experiment);
}

ProtobufWriter hparams_start(std::span<const LogEntry> values) {
  ProtobufWriter start;
  for (const LogEntry& each : values) {
    ProtobufWriter entry;
    entry.text(entry_field::key, each.name);
    entry.message(entry_field::value, std::visit(AsAnyValue(), each.value.any()));
    start.message(start_field::hparam, entry);
  }
  return hparams_value(kHparamsStart, plugin_data_field::start, start);
}

ProtobufWriter hparams_end(HparamsStatus status, double wall_time) {
  ProtobufWriter end;
  end.integer(end_field::status, static_cast<int64_t>(status)).real(end_field::time, wall_time);
  return hparams_value(kHparamsEnd, plugin_data_field::end, end);
}

}  // namespace plait
