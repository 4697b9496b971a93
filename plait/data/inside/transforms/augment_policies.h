// The policies that AutoAugment found: 25 pairs of operations for each data set, from the tables of
// the paper. Each operation has a probability and the number of a magnitude.
#pragma once

#include <array>
#include <cstdint>

#include "plait/data/transforms/augment.h"

namespace plait::data::transforms {

struct PolicyStep {
  AugmentKind kind;
  double probability;
  int64_t magnitude;
};
using Policy = std::array<std::array<PolicyStep, 2>, 25>;

inline constexpr Policy kPolicyImagenet = {{
    {{{AugmentKind::posterize, 0.4, 8}, {AugmentKind::rotate, 0.6, 9}}},
    {{{AugmentKind::solarize, 0.6, 5}, {AugmentKind::auto_contrast, 0.6, 0}}},
    {{{AugmentKind::equalize, 0.8, 0}, {AugmentKind::equalize, 0.6, 0}}},
    {{{AugmentKind::posterize, 0.6, 7}, {AugmentKind::posterize, 0.6, 6}}},
    {{{AugmentKind::equalize, 0.4, 0}, {AugmentKind::solarize, 0.2, 4}}},
    {{{AugmentKind::equalize, 0.4, 0}, {AugmentKind::rotate, 0.8, 8}}},
    {{{AugmentKind::solarize, 0.6, 3}, {AugmentKind::equalize, 0.6, 0}}},
    {{{AugmentKind::posterize, 0.8, 5}, {AugmentKind::equalize, 1.0, 0}}},
    {{{AugmentKind::rotate, 0.2, 3}, {AugmentKind::solarize, 0.6, 8}}},
    {{{AugmentKind::equalize, 0.6, 0}, {AugmentKind::posterize, 0.4, 6}}},
    {{{AugmentKind::rotate, 0.8, 8}, {AugmentKind::color, 0.4, 0}}},
    {{{AugmentKind::rotate, 0.4, 9}, {AugmentKind::equalize, 0.6, 0}}},
    {{{AugmentKind::equalize, 0.0, 0}, {AugmentKind::equalize, 0.8, 0}}},
    {{{AugmentKind::invert, 0.6, 0}, {AugmentKind::equalize, 1.0, 0}}},
    {{{AugmentKind::color, 0.6, 4}, {AugmentKind::contrast, 1.0, 8}}},
    {{{AugmentKind::rotate, 0.8, 8}, {AugmentKind::color, 1.0, 2}}},
    {{{AugmentKind::color, 0.8, 8}, {AugmentKind::solarize, 0.8, 7}}},
    {{{AugmentKind::sharpness, 0.4, 7}, {AugmentKind::invert, 0.6, 0}}},
    {{{AugmentKind::shear_x, 0.6, 5}, {AugmentKind::equalize, 1.0, 0}}},
    {{{AugmentKind::color, 0.4, 0}, {AugmentKind::equalize, 0.6, 0}}},
    {{{AugmentKind::equalize, 0.4, 0}, {AugmentKind::solarize, 0.2, 4}}},
    {{{AugmentKind::solarize, 0.6, 5}, {AugmentKind::auto_contrast, 0.6, 0}}},
    {{{AugmentKind::invert, 0.6, 0}, {AugmentKind::equalize, 1.0, 0}}},
    {{{AugmentKind::color, 0.6, 4}, {AugmentKind::contrast, 1.0, 8}}},
    {{{AugmentKind::equalize, 0.8, 0}, {AugmentKind::equalize, 0.6, 0}}},
}};

inline constexpr Policy kPolicyCifar10 = {{
    {{{AugmentKind::invert, 0.1, 0}, {AugmentKind::contrast, 0.2, 6}}},
    {{{AugmentKind::rotate, 0.7, 2}, {AugmentKind::translate_x, 0.3, 9}}},
    {{{AugmentKind::sharpness, 0.8, 1}, {AugmentKind::sharpness, 0.9, 3}}},
    {{{AugmentKind::shear_y, 0.5, 8}, {AugmentKind::translate_y, 0.7, 9}}},
    {{{AugmentKind::auto_contrast, 0.5, 0}, {AugmentKind::equalize, 0.9, 0}}},
    {{{AugmentKind::shear_y, 0.2, 7}, {AugmentKind::posterize, 0.3, 7}}},
    {{{AugmentKind::color, 0.4, 3}, {AugmentKind::brightness, 0.6, 7}}},
    {{{AugmentKind::sharpness, 0.3, 9}, {AugmentKind::brightness, 0.7, 9}}},
    {{{AugmentKind::equalize, 0.6, 0}, {AugmentKind::equalize, 0.5, 0}}},
    {{{AugmentKind::contrast, 0.6, 7}, {AugmentKind::sharpness, 0.6, 5}}},
    {{{AugmentKind::color, 0.7, 7}, {AugmentKind::translate_x, 0.5, 8}}},
    {{{AugmentKind::equalize, 0.3, 0}, {AugmentKind::auto_contrast, 0.4, 0}}},
    {{{AugmentKind::translate_y, 0.4, 3}, {AugmentKind::sharpness, 0.2, 6}}},
    {{{AugmentKind::brightness, 0.9, 6}, {AugmentKind::color, 0.2, 8}}},
    {{{AugmentKind::solarize, 0.5, 2}, {AugmentKind::invert, 0.0, 0}}},
    {{{AugmentKind::equalize, 0.2, 0}, {AugmentKind::auto_contrast, 0.6, 0}}},
    {{{AugmentKind::equalize, 0.2, 0}, {AugmentKind::equalize, 0.6, 0}}},
    {{{AugmentKind::color, 0.9, 9}, {AugmentKind::equalize, 0.6, 0}}},
    {{{AugmentKind::auto_contrast, 0.8, 0}, {AugmentKind::solarize, 0.2, 8}}},
    {{{AugmentKind::brightness, 0.1, 3}, {AugmentKind::color, 0.7, 0}}},
    {{{AugmentKind::solarize, 0.4, 5}, {AugmentKind::auto_contrast, 0.9, 0}}},
    {{{AugmentKind::translate_y, 0.9, 9}, {AugmentKind::translate_y, 0.7, 9}}},
    {{{AugmentKind::auto_contrast, 0.9, 0}, {AugmentKind::solarize, 0.8, 3}}},
    {{{AugmentKind::equalize, 0.8, 0}, {AugmentKind::invert, 0.1, 0}}},
    {{{AugmentKind::translate_y, 0.7, 9}, {AugmentKind::auto_contrast, 0.9, 0}}},
}};

inline constexpr Policy kPolicySvhn = {{
    {{{AugmentKind::shear_x, 0.9, 4}, {AugmentKind::invert, 0.2, 0}}},
    {{{AugmentKind::shear_y, 0.9, 8}, {AugmentKind::invert, 0.7, 0}}},
    {{{AugmentKind::equalize, 0.6, 0}, {AugmentKind::solarize, 0.6, 6}}},
    {{{AugmentKind::invert, 0.9, 0}, {AugmentKind::equalize, 0.6, 0}}},
    {{{AugmentKind::equalize, 0.6, 0}, {AugmentKind::rotate, 0.9, 3}}},
    {{{AugmentKind::shear_x, 0.9, 4}, {AugmentKind::auto_contrast, 0.8, 0}}},
    {{{AugmentKind::shear_y, 0.9, 8}, {AugmentKind::invert, 0.4, 0}}},
    {{{AugmentKind::shear_y, 0.9, 5}, {AugmentKind::solarize, 0.2, 6}}},
    {{{AugmentKind::invert, 0.9, 0}, {AugmentKind::auto_contrast, 0.8, 0}}},
    {{{AugmentKind::equalize, 0.6, 0}, {AugmentKind::rotate, 0.9, 3}}},
    {{{AugmentKind::shear_x, 0.9, 4}, {AugmentKind::solarize, 0.3, 3}}},
    {{{AugmentKind::shear_y, 0.8, 8}, {AugmentKind::invert, 0.7, 0}}},
    {{{AugmentKind::equalize, 0.9, 0}, {AugmentKind::translate_y, 0.6, 6}}},
    {{{AugmentKind::invert, 0.9, 0}, {AugmentKind::equalize, 0.6, 0}}},
    {{{AugmentKind::contrast, 0.3, 3}, {AugmentKind::rotate, 0.8, 4}}},
    {{{AugmentKind::invert, 0.8, 0}, {AugmentKind::translate_y, 0.0, 2}}},
    {{{AugmentKind::shear_y, 0.7, 6}, {AugmentKind::solarize, 0.4, 8}}},
    {{{AugmentKind::invert, 0.6, 0}, {AugmentKind::rotate, 0.8, 4}}},
    {{{AugmentKind::shear_y, 0.3, 7}, {AugmentKind::translate_x, 0.9, 3}}},
    {{{AugmentKind::shear_x, 0.1, 6}, {AugmentKind::invert, 0.6, 0}}},
    {{{AugmentKind::solarize, 0.7, 2}, {AugmentKind::translate_y, 0.6, 7}}},
    {{{AugmentKind::shear_y, 0.8, 4}, {AugmentKind::invert, 0.8, 0}}},
    {{{AugmentKind::shear_x, 0.7, 9}, {AugmentKind::translate_y, 0.8, 3}}},
    {{{AugmentKind::shear_y, 0.8, 5}, {AugmentKind::auto_contrast, 0.7, 0}}},
    {{{AugmentKind::shear_x, 0.7, 2}, {AugmentKind::invert, 0.1, 0}}},
}};

}  // namespace plait::data::transforms
