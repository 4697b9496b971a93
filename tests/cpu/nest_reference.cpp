#include "tests/cpu/nest_reference.h"

namespace plait::nest_test {

void check_nest(const Nest& nest, const std::vector<size_t>& parameter_counts,
                const std::vector<size_t>& result_counts, const SymbolMap<int64_t>& symbols,
                double least_tolerance) {
  std::vector<Elements> in, out, expected;
  for (size_t i = 0; i < parameter_counts.size(); ++i) {
    in.push_back(random_elements(nest.parameters[i], parameter_counts[i],
                                 static_cast<unsigned>(17 * i + parameter_counts[i])));
  }
  for (size_t i = 0; i < result_counts.size(); ++i) {
    expected.emplace_back(nest.values[nest.results[i].value].dtype, result_counts[i]);
  }
  out = expected;
  const auto pointers = [](auto& all) {
    std::vector<Elements*> result;
    for (auto& each : all) result.push_back(&each);
    return result;
  };
  std::vector<const Elements*> parameters;
  for (const Elements& each : in) parameters.push_back(&each);
  run_reference(nest, parameters, pointers(expected), symbols);
  for (const std::string& level : cpu_levels()) {
    const AtLevel at(level);
    std::vector<Elements> results = out;
    compile_and_run(nest, parameters, pointers(results), symbols);
    for (size_t r = 0; r < results.size(); ++r) {
      const DType dtype = results[r].dtype();
      const double tolerance = std::max(relative_error_of(dtype), least_tolerance);
      for (size_t i = 0; i < results[r].count(); ++i) {
        const double x = real_of(dtype, results[r].element(i));
        const double y = real_of(dtype, expected[r].element(i));
        const bool alike = (std::isnan(x) && std::isnan(y)) || x == y ||
                           std::abs(x - y) <= tolerance * std::max(1.0, std::abs(y));
        ASSERT_TRUE(alike) << "result " << r << " at " << i << " is " << x << " instead of " << y
                           << " of\n"
                           << nest.text();
      }
    }
  }
}

}  // namespace plait::nest_test
