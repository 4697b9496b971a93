// The messages of TensorBoard's plugin for hyperparameters.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "plait/io/inside/protobuf_fields.h"
#include "plait/io/logs/run_log.h"

namespace plait {

enum class HparamsStatus : uint8_t { success = 1, failure = 2 };  // as the plugin numbers them

// Values of a summary: which hyperparameters and metrics there are, the values of the former, and
// how the run ended. The metrics are tags of scalars.
ProtobufWriter hparams_experiment(std::span<const LogEntry> values,
                                  std::span<const std::string> metrics);
ProtobufWriter hparams_start(std::span<const LogEntry> values);
ProtobufWriter hparams_end(HparamsStatus status, double wall_time);

}  // namespace plait
