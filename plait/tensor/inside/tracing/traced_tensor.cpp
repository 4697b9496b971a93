// Reads of traced tensors by host code.
#include "plait/core/error.h"
#include "plait/tensor/inside/late_use.h"
#include "plait/tensor/inside/tracing/trace.h"

namespace plait {

void refuse_late_use(const TracedValue& value) {
  throw ValueError("a {} of the trace of {} is used after that trace has ended", value.type.text(),
                   value.scope->name)
      .at(Location::of_caller())
      .hint("return it from the traced function instead of storing it elsewhere");
}

Trace& Tensor::knowing_trace() const {
  const TracedValue& known = traced();
  Trace* const trace = known.scope->trace;
  if (known.actual && trace != nullptr) return *trace;
  if (trace == nullptr) refuse_late_use(known);
  trace->run().note_unknown_read();
  throw ValueError("a {} has no value while {} is traced", known.type.text(), known.scope->name)
      .hint(
          "compute with tensors only (where, cond and while_loop decide by values), or return the "
          "value and read it outside");
}

const Array& Tensor::array_at_present() const {
  Trace& trace = knowing_trace();
  trace.run().companion()->on_read(*this);
  Trace::actual(*this);
  return traced().actual->array();
}

}  // namespace plait
