// `guard` and `size_guard`: what must hold for the program to be valid.
#include "plait/core/error.h"
#include "plait/ir/structure.h"
#include "plait/ir/text/printer.h"
#include "plait/tensor/inside/tracing/trace.h"
#include "plait/transform/inside/forms/form.h"
#include "plait/transform/inside/running/tensor_run.h"

namespace plait {
namespace {

std::vector<Tensor> expect(const OnTensors& here, bool found, bool expected) {
  if (here.run != nullptr && here.run->options().on_guard) {
    here.run->options().on_guard(found, expected);
    return {};
  }
  if (found == expected) return {};
  throw CheckError("{} does not hold", ir::print(here.instruction))
      .at(here.instruction.location())
      .hint("this held for the traced arguments; trace the program again for the present ones");
}

SizeFact fact_here(const OnTensors& here) {
  return here.instruction.attributes_as<ir::SizeGuardAttributes>().fact.substitute(here.sizes);
}

std::vector<Tensor> record(const OnTensors& here, const ir::Attributes& attributes) {
  return Trace::current()->record({.primitive = here.instruction.primitive(),
                                   .operands = here.operands,
                                   .attributes = attributes});
}

std::vector<Tensor> run_guard(const OnTensors& here) {
  return expect(here, here.operands[0].truth(),
                here.instruction.attributes_as<ir::GuardAttributes>().expect);
}
std::vector<Tensor> stage_guard(const OnTensors& here) {
  return record(here, here.instruction.attributes());
}

std::vector<Tensor> run_size_guard(const OnTensors& here) {
  return expect(here, fact_here(here).evaluate({}), true);
}
std::vector<Tensor> stage_size_guard(const OnTensors& here) {
  return record(here, ir::Attributes::of(ir::SizeGuardAttributes{fact_here(here)}));
}

}  // namespace

namespace forms {

extern constexpr Form kGuard{.run = run_guard, .stage = stage_guard};
extern constexpr Form kSizeGuard{.run = run_size_guard, .stage = stage_size_guard};

}  // namespace forms
}  // namespace plait
