#include "tests/gpu_check/recorded_cases.h"

#include <cmath>
#include <complex>
#include <cstdio>
#include <optional>
#include <sstream>
#include <vector>

#include <fmt/format.h>

#include "plait/core/device.h"
#include "plait/core/error.h"
#include "plait/core/numbers/dtype.h"
#include "plait/io/safetensors.h"
#include "plait/ir/program.h"
#include "plait/ops/arrays/to_device.h"
#include "plait/ops/register_all.h"
#include "plait/tensor/array_machine.h"
#include "plait/tensor/memory/device_memory.h"

namespace plait::gpu_check {
namespace {

const Device kGpu("cuda:0");

struct RecordedCase {
  std::string label;
  double units = 0;         // in the last place by which results may differ
  bool by_largest = false;  // units of the largest result, not of each
  ir::Program program;
  std::vector<Tensor> operands;
};

RecordedCase read_case(const Safetensors& file, const std::string& number,
                       const std::string& line) {
  RecordedCase recorded;
  std::istringstream words(line);
  words >> recorded.units >> recorded.by_largest;
  std::getline(words >> std::ws, recorded.label);
  const Array bytes = file.array(number + ".program").contiguous();
  const auto elements = bytes.elements<uint8_t>();
  recorded.program =
      ir::Program::from_bytes({reinterpret_cast<const char*>(elements.data()), elements.size()});
  for (size_t place = 0;; ++place) {
    const std::string name = fmt::format("{}.{}", number, place);
    if (!file.contains(name)) return recorded;
    recorded.operands.emplace_back(file.array(name));
  }
}

double largest(std::span<const std::complex<double>> values) {
  double most = 0;
  for (const auto& value : values) {
    if (std::isfinite(std::abs(value))) most = std::max(most, std::abs(value));
  }
  return most;
}

bool is_near(std::complex<double> a, std::complex<double> b, double allowed) {
  const auto alike = [&](double x, double y) {
    return x == y || (std::isnan(x) && std::isnan(y)) || std::abs(x - y) <= allowed;
  };
  return alike(a.real(), b.real()) && alike(a.imag(), b.imag());
}

// A description of the first difference.
std::optional<std::string> difference(const Array& actual, const Array& expected,
                                      const RecordedCase& recorded) {
  if (actual.dtype() != expected.dtype() || actual.sizes() != expected.sizes()) {
    return fmt::format("gives {}{} instead of {}{}", name_of(actual.dtype()),
                       text_of_sizes(actual.sizes()), name_of(expected.dtype()),
                       text_of_sizes(expected.sizes()));
  }
  if (!is_inexact(expected.dtype())) {
    if (actual.literal() == expected.literal()) return {};
    return fmt::format("{} instead of {}", text_of(actual), text_of(expected));
  }
  const FloatLimits limits = float_limits(real_dtype(expected.dtype()));
  const Array wide = actual.converted(DType::c128).contiguous(),
              wanted = expected.converted(DType::c128).contiguous();
  const auto a = wide.elements<std::complex<double>>(), b = wanted.elements<std::complex<double>>();
  const double size = recorded.by_largest ? largest(b) : 0;
  for (size_t i = 0; i < b.size(); ++i) {
    const double scale = std::max({size, std::abs(b[i]), limits.smallest_normal});
    const double allowed = std::isfinite(scale) ? recorded.units * limits.epsilon * scale : 0;
    if (is_near(a[i], b[i], allowed)) continue;
    return fmt::format("at {}: {:.9g}{:+.9g}i instead of {:.9g}{:+.9g}i", i, a[i].real(),
                       a[i].imag(), b[i].real(), b[i].imag());
  }
  return {};
}

std::optional<std::string> run(const RecordedCase& recorded) {
  const std::vector<Tensor> expected = evaluate(recorded.program, recorded.operands);
  std::vector<Tensor> there;
  for (const Tensor& operand : recorded.operands) there.push_back(to_device(operand, kGpu));
  std::vector<Tensor> results;
  {
    const DeviceScope scope(kGpu);
    results = evaluate(recorded.program, there);
  }
  device_memory(kGpu).synchronize();
  for (size_t i = 0; i < results.size(); ++i) {
    auto wrong = difference(results[i].array().on_host(), expected[i].array().on_host(), recorded);
    if (wrong) return fmt::format("result {} {}", i, *wrong);
  }
  return {};
}

// True if the device does not work after an error.
bool is_lost() {
  try {
    device_memory(kGpu).synchronize();
    return false;
  } catch (const Error&) {
    return true;
  }
}

}  // namespace

Replayed replay(const std::string& file_name, int64_t first) {
  register_all();  // the primitives that programs name
  const Safetensors file = Safetensors::open(file_name);
  const SafetensorsMetadata lines = file.metadata().value_or(SafetensorsMetadata{});
  Replayed done;
  for (int64_t number = first;; ++number) {
    const auto line = lines.find(std::to_string(number));
    if (line == lines.end()) return done;
    ++done.cases;
    RecordedCase recorded{.label = line->second};
    std::optional<std::string> wrong;
    try {
      recorded = read_case(file, line->first, line->second);
      wrong = run(recorded);
    } catch (const Error& error) {
      wrong = error.what();
      if (wrong->find(": the operands are on different devices: ") != std::string::npos) {
        ++done.mixed;
        continue;
      }
      if (is_lost()) {
        fmt::print("{}: {}\nlost at {}\n", recorded.label, *wrong, number);
        throw;
      }
    }
    if (!wrong) continue;
    ++done.failures;
    fmt::print("{}: {}\n", recorded.label, *wrong);
    std::fflush(stdout);
  }
}

}  // namespace plait::gpu_check
