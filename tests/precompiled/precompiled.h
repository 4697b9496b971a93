// The headers that take longest to read in nearly every test: read once for all. No test needs it.
#pragma once

#include <gtest/gtest.h>
#if __has_include(<rapidcheck.h>)
#include <rapidcheck.h>
#endif

#include "plait/tensor/tensor.h"
