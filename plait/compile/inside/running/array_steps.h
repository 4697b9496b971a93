// Steps that compute arrays, into the frame or into memory of their own.
#pragma once

#include "plait/compile/inside/running/frame.h"

namespace plait::compile {

void run_step(Frame& frame, const Step& step, const KernelStep& kind, const PlannedKernel& kernel);
void run_step(Frame& frame, const Step& step, const PrimitiveStep& kind);
void run_step(Frame& frame, const Step& step, const ViewStep& kind);

// ---- The stacked results of a scan.

void run_step(Frame& frame, const Step& step, const BeginScanStep& kind);
void run_step(Frame& frame, const Step& step, const PutSliceStep& kind);
// Takes the slices of the next round; false if there is none.
bool take_slices(Frame& frame, const Step& step, const ScanLoop& loop);

}  // namespace plait::compile
